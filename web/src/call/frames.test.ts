import { describe, expect, it } from 'vitest'
import { requestFrame, responseFrame } from './frames'

describe('a frame', () => {
  it('keeps id and payload as they were written', () => {
    expect(requestFrame('tools/call', '"a-7"', '{"n":9007199254740993}')).toBe(
      '{"jsonrpc":"2.0","id":"a-7","method":"tools/call","params":{"n":9007199254740993}}',
    )
    expect(requestFrame('notifications/x', null, null)).toBe('{"jsonrpc":"2.0","method":"notifications/x"}')
  })
  it('is an error only when it failed and looks like one', () => {
    const body = '{"code":-32050,"message":"no"}'
    expect(responseFrame('1', body, false)).toBe(`{"jsonrpc":"2.0","id":1,"error":${body}}`)
    expect(responseFrame('1', body, true)).toBe(`{"jsonrpc":"2.0","id":1,"result":${body}}`)
    expect(responseFrame('1', null, false)).toBeNull()
  })
})
