import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { asCommand, asCurl, headerValue, quote } from './shell'

// What a real shell makes of the words.
const words = (line: string): string[] =>
  execFileSync('sh', ['-c', `for word in ${line}; do printf '%s\\0' "$word"; done`])
    .toString()
    .split('\0')
    .slice(0, -1)

const NASTY = [
  "it's",
  '$HOME `id` $(id)',
  'a\nb',
  '',
  '~',
  '!x',
  '*',
  "'",
  '\\',
  'ünïcode',
  '-n',
  '"',
  'a;b|c&d>e<f',
  '=ls',
  '#',
]

describe('a word for the shell', () => {
  it.each(NASTY)('%j comes out as it went in', (word) => expect(words(quote(word))).toEqual([word]))
  it('is left plain when it is plain', () => expect(quote('demo__query')).toBe('demo__query'))
})

describe('a call as a command', () => {
  it('writes text as key=value and everything else as key:=JSON', () => {
    expect(asCommand('demo__query', { query: "SELECT 'x'", limit: 5, deep: { a: [1] }, none: null })).toBe(
      `callgate call demo__query 'query=SELECT '\\''x'\\''' limit:=5 'deep:={"a":[1]}' none:=null`,
    )
  })
  it('writes text as JSON where the schema would have it read as JSON', () => {
    const schema = { properties: { id: { type: 'integer' } } }
    expect(asCommand('t', { id: '7' }, schema)).toBe(`callgate call t 'id:="7"'`)
  })
  it('ends the options before a word that looks like one', () => {
    expect(asCommand('t', { '-x': 'y' })).toBe("callgate call -- t '-x=y'")
  })
  it('writes a key with a colon at its end as JSON, whose colon is taken off', () => {
    expect(asCommand('t', { 'a:': 'b' })).toBe(`callgate call t 'a::="b"'`)
  })
  it.each([[{ 'a=b': 1 }], [{ '': 1 }]])('has no words for %j', (args) => expect(asCommand('t', args)).toBeNull())
  it.each(NASTY)('carries %j to the program', (value) => {
    expect(words(asCommand('t', { k: value })?.replace('callgate call ', '') ?? '')).toEqual(['t', `k=${value}`])
  })
})

describe('a call as curl', () => {
  const asking = {
    url: 'http://127.0.0.1:7420/mcp',
    method: 'tools/call',
    params: { name: 'té', arguments: { q: "it's" }, _meta: { progressToken: 1 } },
  }
  it('stands alone: its headers say what its body says', () => {
    const [, ...told] = words(asCurl({ ...asking, needsToken: false }))
    const body = JSON.parse(told.at(-1) ?? '') as { params: Record<string, unknown> }
    expect(told).toContain('MCP-Protocol-Version: 2026-07-28')
    expect(told).toContain('Mcp-Method: tools/call')
    expect(told).toContain(`Mcp-Name: ${headerValue('té')}`)
    expect(body.params).toMatchObject({ name: 'té', arguments: { q: "it's" } })
    expect(Object.keys(body.params._meta as object)).toEqual([
      'io.modelcontextprotocol/protocolVersion',
      'io.modelcontextprotocol/clientInfo',
      'io.modelcontextprotocol/clientCapabilities',
    ])
  })
  it('reads the token from the environment, and only where one is needed', () => {
    expect(asCurl({ ...asking, needsToken: true })).toContain('-H "Authorization: Bearer $CALLGATE_TOKEN"')
    expect(asCurl({ ...asking, needsToken: false })).not.toContain('Authorization')
  })
  it('wraps a header value that a header cannot carry', () => {
    expect(headerValue('plain name')).toBe('plain name')
    expect(headerValue('é')).toBe('=?base64?w6k=?=')
    expect(headerValue(' x')).toBe('=?base64?IHg=?=')
    expect(headerValue('=?base64?eA==?=')).toBe('=?base64?PT9iYXNlNjQ/ZUE9PT89?=')
  })
})
