import { describe, expect, it } from 'vitest'
import { asked, becameOf, toolWithoutServer } from './summary'

describe('a call in one line', () => {
  it.each([
    [{ sql: 'SELECT 1\n  FROM t', arguments: '{}' }, 'SELECT 1 FROM t'],
    [{ sql: null, arguments: '{"query":"SELECT \\"a\\"\\nFROM t"}' }, 'SELECT "a" FROM t'],
    [{ sql: null, arguments: '{"path":"/tmp","depth":2}' }, '"path":"/tmp","depth":2'],
    [{ sql: null, arguments: '{"query":"cut in the mid' }, '{"query":"cut in the mid'],
    [{ sql: null, arguments: '{}' }, ''],
    [{ sql: null, arguments: null }, ''],
  ])('%j asked %j', (call, line) => expect(asked(call)).toBe(line))

  it('tells the error before the rows', () => {
    expect(becameOf({ error: 'no\nsuch table', rows: 3, truncated: false })).toBe('no such table')
    expect(becameOf({ error: null, rows: 1, truncated: false })).toBe('1 row')
    expect(becameOf({ error: null, rows: 1200, truncated: true })).toBe('1,200 rows, cut')
  })
  it('leaves out the server that stands beside the tool', () => {
    expect(toolWithoutServer({ tool: 'demo__query', server: 'demo', method: 'tools/call' })).toBe('query')
    expect(toolWithoutServer({ tool: 'query', server: 'demo', method: 'tools/call' })).toBe('query')
    expect(toolWithoutServer({ tool: null, server: 'demo', method: 'tools/list' })).toBe('tools/list')
  })
})
