// @vitest-environment node
// The connection against a real HTTP server of our own: what it sends, and what it does when the line is cut.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Connection, type ConnectionState } from './connection'

let server: Server
let asked: (string | undefined)[] = []
let answer: (response: ServerResponse, request: IncomingMessage) => void
let connection: Connection
const states: ConnectionState[] = []
const seen: string[] = []
let waiting: { isMet: () => boolean; met: () => void }[] = []

const until = (isMet: () => boolean) =>
  isMet() ? Promise.resolve() : new Promise<void>((met) => waiting.push({ isMet, met }))
function changed() {
  for (const one of waiting) if (one.isMet()) one.met()
  waiting = waiting.filter((one) => !one.isMet())
}

const stream = (response: ServerResponse, id: string) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(`id: ${id}\nevent: x\ndata: ${id}\n\n`)
}

beforeEach(async () => {
  asked = []
  states.length = 0
  seen.length = 0
  server = createServer((request, response) => {
    asked.push(request.headers['last-event-id'] as string | undefined)
    answer(response, request)
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/events`
  connection = new Connection(
    {
      event: (event) => (seen.push(event.data), changed()),
      state: (state) => (states.push(state), changed()),
      poll: () => Promise.resolve(),
      opened: () => undefined,
    },
    address,
    fetch,
  )
})
afterEach(async () => {
  connection.stop()
  server.closeAllConnections()
  await new Promise((closed) => server.close(closed))
})

describe('the connection', () => {
  it('resumes after the last event it heard, when the line was cut', async () => {
    answer = (response) => {
      stream(response, asked.length === 1 ? '7' : '8')
      if (asked.length === 1) setImmediate(() => response.destroy())
    }
    connection.start()
    await until(() => seen.length === 2)
    expect(seen).toEqual(['7', '8'])
    expect(asked).toEqual([undefined, '7'])
    expect(states).toEqual(['connecting', 'live', 'reconnecting', 'live'])
  })
  it('says that it is cut while the gateway refuses, and is live again after', async () => {
    answer = (response) => {
      if (asked.length < 2) response.writeHead(503).end('{}')
      else stream(response, '1')
    }
    connection.start()
    await until(() => states.at(-1) === 'reconnecting')
    connection.retryNow()
    await until(() => states.at(-1) === 'live')
    expect(asked).toHaveLength(2)
  })
})
