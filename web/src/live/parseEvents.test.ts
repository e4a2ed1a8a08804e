import { describe, expect, it } from 'vitest'
import { EventParser } from './parseEvents'

const TEXT = 'retry: 2000\n\nid: 7\nevent: tool_calls.settled\ndata: {"a":1}\n\n: sign of life\n\nevent: events.missed\ndata: {"b":\ndata: 2}\n\n'
const WHOLE = [
  { id: '7', type: 'tool_calls.settled', data: '{"a":1}' },
  { id: null, type: 'events.missed', data: '{"b":\n2}' },
]

describe('the event stream', () => {
  it('gives whole events', () => expect(new EventParser().feed(TEXT)).toEqual(WHOLE))
  it('does not care where the network cuts it', () => {
    for (let cut = 1; cut < TEXT.length; cut++) {
      const parser = new EventParser()
      expect([...parser.feed(TEXT.slice(0, cut)), ...parser.feed(TEXT.slice(cut))]).toEqual(WHOLE)
    }
  })
  it('takes every line ending the standard knows', () => {
    const parser = new EventParser()
    const crlf = [...TEXT.replaceAll('\n', '\r\n')].flatMap((letter) => parser.feed(letter))
    expect(crlf).toEqual(WHOLE)
  })
  it('keeps half an event to itself', () => expect(new EventParser().feed('data: 1\n')).toEqual([]))
})
