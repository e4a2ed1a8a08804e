import { describe, expect, it } from 'vitest'
import { asText, byTable, fromText, tableOf } from './settingText'

describe('a value as it is typed', () => {
  it('comes back as what it was', () => {
    expect(fromText(asText(true), 'boolean')).toBe(true)
    expect(fromText(asText(12.5), 'number')).toBe(12.5)
    expect(fromText(asText('30d'), 'string')).toBe('30d')
    expect(fromText(asText(['a', 'b']), 'array')).toEqual(['a', 'b'])
    expect(fromText(asText({ A: '1' }), 'object')).toEqual({ A: '1' })
  })
  it('leaves a variable in the place of a number to the gateway', () => {
    expect(fromText('${SECONDS}', 'number')).toBe('${SECONDS}')
  })
  it('is refused where a list or a table is needed', () => {
    expect(() => fromText('a, b', 'array')).toThrow()
    expect(() => fromText('{"a": 1}', 'array')).toThrow('list')
    expect(() => fromText('["a"]', 'object')).toThrow('table')
  })
})

describe('the table of a key', () => {
  it('is the entry for what has a name', () => {
    expect(tableOf('record.keep')).toBe('record')
    expect(tableOf('sources.shop.dsn')).toBe('sources.shop')
    expect(tableOf('mcpServers."my server".env.A')).toBe('mcpServers."my server"')
    expect(tableOf('tools[0].sql')).toBe('tools[0]')
    expect(tableOf('version')).toBe('')
  })
  it('groups values in their order', () => {
    const value = (key_path: string) => ({ key_path }) as never
    expect(byTable([value('a.b'), value('c.d'), value('a.e')]).map(([table, all]) => [table, all.length])).toEqual([
      ['a', 2],
      ['c', 1],
    ])
  })
})
