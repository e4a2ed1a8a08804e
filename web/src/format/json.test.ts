import { describe, expect, it } from 'vitest'
import { decodeJson } from './json'

describe('JSON for reading', () => {
  it('takes JSON out of strings, however deep', () => {
    const inner = JSON.stringify({ rows: [JSON.stringify([1])] })
    const decoded = decodeJson(JSON.stringify({ text: inner }))
    expect(JSON.parse(decoded.text)).toEqual({ text: { rows: [[1]] } })
    expect(decoded.decoded).toBe(2)
  })
  it('leaves strings that only look like it', () => {
    expect(JSON.parse(decodeJson('{"a":"{not json","b":"42"}').text)).toEqual({ a: '{not json', b: '42' })
  })
  it('shows what was cut as the text it is', () => {
    expect(decodeJson('{"a": [1, 2')).toEqual({ text: '{"a": [1, 2', isJson: false, decoded: 0 })
  })
  it('can leave everything as it came', () => expect(decodeJson('{"a":"[1]"}', false).text).toContain('"[1]"'))
})
