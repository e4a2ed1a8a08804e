// Keeps one event stream open: resumes after the last event seen, waits longer after each failure, and while it is
// cut asks for a poll every 30 s. Knows nothing of what the events mean.
// fetch() instead of EventSource, which cannot send an Authorization header.

import { send } from '@/api/send'
import { asProblem, isAbort, problemOf, type ApiProblem } from '@/api/problem'
import { EventParser, type ServerEvent } from './parseEvents'

export type ConnectionState = 'connecting' | 'live' | 'reconnecting' | 'polling' | 'off'

export interface ConnectionEvents {
  event(event: ServerEvent): void
  state(state: ConnectionState, problem: ApiProblem | null): void
  poll(): Promise<void>
  opened(how: { isFirst: boolean; wasCut: boolean }): void
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000 // a gateway that restarts is back on the page within a quarter minute
const SILENCE_MS = 45_000 // the gateway writes a comment each 15 s; three missed ones mean the line is dead
const POLL_MS = 30_000

const later = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })

export class Connection {
  private lastId: string | null = null
  private stopping = new AbortController()
  private hurry: (() => void) | null = null
  private pollTimer: ReturnType<typeof setInterval> | undefined
  private wasOpened = false
  private wasCut = false
  private isPolled = false // the last poll was answered: cut, but not blind

  constructor(
    private readonly on: ConnectionEvents,
    private readonly address = '/api/v1/events',
    private readonly ask: (request: Request) => Promise<Response> = send,
  ) {}

  start() {
    this.stopping = new AbortController()
    void this.run(this.stopping.signal)
  }

  stop() {
    this.stopping.abort()
    this.stopPolling()
    this.on.state('off', null)
  }

  /** Try now instead of waiting out the backoff. */
  retryNow() {
    this.hurry?.()
  }

  private async run(signal: AbortSignal) {
    let waitMs = FIRST_WAIT_MS
    this.on.state('connecting', null)
    while (!signal.aborted) {
      let problem: ApiProblem
      try {
        await this.readStream(signal, () => (waitMs = FIRST_WAIT_MS))
        problem = asProblem(new TypeError('the stream ended'))
      } catch (cause) {
        if (signal.aborted) return
        problem = isAbort(cause) ? asProblem(new TypeError('the stream fell silent')) : asProblem(cause)
      }
      if (signal.aborted) return
      this.wasCut = true
      const woken = new AbortController()
      this.hurry = () => woken.abort()
      const either = AbortSignal.any([signal, woken.signal])
      if (problem.status === 401) {
        // Whoever was asked for a token and gave none is not asked again unless they want to be.
        this.stopPolling()
        this.on.state('off', problem)
        await new Promise((resolve) => either.addEventListener('abort', resolve, { once: true }))
        continue
      }
      this.on.state(this.isPolled ? 'polling' : 'reconnecting', problem)
      this.startPolling()
      await later(waitMs * (0.75 + Math.random() / 2), either)
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
    }
  }

  private async readStream(signal: AbortSignal, opened: () => void) {
    const silent = new AbortController()
    const headers = new Headers({ Accept: 'text/event-stream' })
    if (this.lastId !== null) headers.set('Last-Event-ID', this.lastId)
    const request = new Request(this.address, {
      headers,
      cache: 'no-store',
      signal: AbortSignal.any([signal, silent.signal]),
    })
    let watchdog = setTimeout(() => silent.abort(), SILENCE_MS)
    try {
      const response = await this.ask(request)
      if (!response.ok || !response.body) throw problemOf(response.status, await response.json().catch(() => null))
      opened()
      this.stopPolling()
      this.on.state('live', null)
      this.on.opened({ isFirst: !this.wasOpened, wasCut: this.wasCut })
      this.wasOpened = true
      this.wasCut = false
      const parser = new EventParser()
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        clearTimeout(watchdog)
        watchdog = setTimeout(() => silent.abort(), SILENCE_MS)
        for (const event of parser.feed(value)) {
          if (event.id !== null) this.lastId = event.id
          this.on.event(event)
        }
      }
    } finally {
      clearTimeout(watchdog)
    }
  }

  private startPolling() {
    if (this.pollTimer) return
    this.pollTimer = setInterval(() => {
      this.on.poll().then(
        () => this.polled(true, null),
        (cause) => this.polled(false, asProblem(cause)),
      )
    }, POLL_MS)
  }

  private polled(isAnswered: boolean, problem: ApiProblem | null) {
    if (!this.pollTimer) return
    this.isPolled = isAnswered
    this.on.state(isAnswered ? 'polling' : 'reconnecting', problem)
  }

  private stopPolling() {
    this.isPolled = false
    clearInterval(this.pollTimer)
    this.pollTimer = undefined
  }
}
