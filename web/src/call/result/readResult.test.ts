import { describe, expect, it } from 'vitest'
import { splitMarkdown } from './markdownTables'
import { readResult } from './readResult'
import { tablesIn } from '@/call/rows'

const text = (value: string) => ({ content: [{ type: 'text', text: value }] })
const kinds = (result: unknown) => readResult(result).parts.map((part) => part.kind)

describe('a result that is rows', () => {
  it('is a table when it is a list of objects in a text', () => {
    const [part] = readResult(text('[{"a": 1, "b": "x"}, {"a": 2, "c": null}]')).parts
    expect(part).toMatchObject({
      kind: 'table',
      rows: {
        columns: [
          { label: 'a', isNumber: true },
          { label: 'b', isNumber: false },
          { label: 'c', isNumber: false },
        ],
        rows: [
          [1, 'x', undefined],
          [2, undefined, null],
        ],
      },
    })
  })
  it('is a table named by its member, with what stood beside it', () => {
    expect(readResult(text('{"tickets": [{"id": "T-1"}], "page": 1, "more": {"x": [1]}}')).parts).toMatchObject([
      { kind: 'table', title: 'tickets' },
      { kind: 'facts', facts: [['page', 1]] },
      { kind: 'json', value: { more: { x: [1] } } },
    ])
  })
  it('is a table when it has columns and rows of values', () => {
    expect(tablesIn({ columns: [{ name: 'n' }], rows: [[1]], truncated: false })).toEqual({
      tables: [{ title: '', rows: { columns: [{ label: 'n', isNumber: true }], rows: [[1]] } }],
      rest: { truncated: false },
    })
  })
  it('is no table when a row has another length than the columns', () => {
    expect(tablesIn({ columns: ['a', 'b'], rows: [[1]] })).toBeNull()
  })
  it('is read out of fenced JSON too', () => expect(kinds(text('```json\n[{"a": 1}]\n```'))).toEqual(['table']))
  it('tells structured data once, though a text tells it again', () => {
    const structuredContent = { columns: ['a'], rows: [[1]] }
    const told = [JSON.stringify(structuredContent), '| a |\n| --- |\n| 1 |\n\n1 row']
    for (const said of told) expect(kinds({ ...text(said), structuredContent })).toEqual(['table'])
  })
  it('keeps a text that says something else than the structured data', () => {
    expect(kinds({ ...text('mind the gap'), structuredContent: { ok: true } })).toEqual(['json', 'text'])
  })
  it('keeps the digits of a number that JavaScript cannot hold, where the engine tells them', () => {
    const [part] = readResult(text('[{"id": 9007199254740993}]')).parts
    const shown = part?.kind === 'table' ? JSON.stringify(part.rows.rows[0]?.[0]) : ''
    expect(shown).toBe('rawJSON' in JSON ? '9007199254740993' : '9007199254740992')
  })
})

describe('Markdown', () => {
  it('gives its tables, and the text around them', () => {
    const said = 'Found:\n\n| name | n |\n|:--|--:|\n| a \\| b | 3 |\n| c\\\\d | 12 |\n\nMore?'
    expect(splitMarkdown(said)).toEqual([
      { kind: 'text', text: 'Found:' },
      {
        kind: 'table',
        rows: {
          columns: [
            { label: 'name', isNumber: false },
            { label: 'n', isNumber: true },
          ],
          rows: [
            ['a | b', 3],
            ['c\\d', 12],
          ],
        },
      },
      { kind: 'text', text: 'More?' },
    ])
  })
  it.each([
    ['a pipe in prose', 'a | b\nc | d'],
    ['a rule without a head', '---\ntext'],
    ['a table in a code block', '```\n| a |\n|---|\n| 1 |\n```'],
    ['a head and a rule of other widths', '| a | b |\n|---|\n| 1 | 2 |'],
  ])('sees no table in %s', (_, said) => expect(splitMarkdown(said).map((one) => one.kind)).toEqual(['text']))
  it('keeps a number as text when reading it would change it', () => {
    const [part] = splitMarkdown('| v |\n|---|\n| 1.50 |\n| 007 |')
    expect(part).toMatchObject({ rows: { rows: [['1.50'], ['007']] } })
  })
})

describe('content that is not text', () => {
  it('shows a picture that is in the answer', () => {
    expect(readResult({ content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }] }).parts).toEqual([
      { kind: 'image', src: 'data:image/png;base64,aGk=', about: 'image/png, 2 bytes' },
    ])
  })
  it.each([
    ['https://evil.example/x.png', 'image/png', 'held'],
    ['aGk=', 'image/svg+xml', 'packed'], // bytes to keep as a file, never to show
    ['aGk=', 'text/html', 'packed'],
  ])('shows no picture of %s as %s', (data, mimeType, kind) => {
    expect(kinds({ content: [{ type: 'image', data, mimeType }] })).toEqual([kind])
  })
  it('plays sound that is in the answer, and nothing else', () => {
    expect(kinds({ content: [{ type: 'audio', data: 'aGk=', mimeType: 'audio/wav' }] })).toEqual(['audio'])
    expect(kinds({ content: [{ type: 'audio', data: 'aGk=', mimeType: 'audio/x-script' }] })).toEqual(['packed'])
    expect(kinds({ content: [{ type: 'audio', data: 'https://evil.example/a.wav', mimeType: 'audio/wav' }] })).toEqual(['held'])
  })
  it('reads Markdown as such, and the tables in it as tables', () => {
    const text = '# Title\n\nSome **bold**.\n\n| a |\n|---|\n| 1 |\n\nafter'
    expect(kinds({ content: [{ type: 'text', text }] })).toEqual(['markdown', 'table', 'markdown'])
  })
  it('reads what resources/read and prompts/get answer', () => {
    expect(kinds({ contents: [{ uri: 'a://b', mimeType: 'text/markdown', text: 'plain' }] })).toEqual(['link', 'markdown'])
    expect(kinds({ contents: [{ uri: 'a://b', mimeType: 'text/x-python', text: '# a\n\n**b**' }] })).toEqual(['link', 'text'])
    const messages = [{ role: 'user', content: { type: 'text', text: 'hi' } }]
    expect(kinds({ description: 'd', messages })).toEqual(['text', 'role', 'text'])
  })
  it('shows an embedded resource by its address and its text', () => {
    const resource = { uri: 'file:///a', mimeType: 'text/plain', text: 'hello' }
    expect(kinds({ content: [{ type: 'resource', resource }] })).toEqual(['link', 'text'])
  })
  it('survives any shape', () => {
    for (const odd of [null, 1, 'x', [], [1], {}, { content: [null, 7, { type: 'text' }] }, { content: 'no' }]) {
      expect(() => readResult(odd)).not.toThrow()
    }
  })
  it('reads a result of another method as data', () => expect(kinds({ tools: [{ name: 'a' }] })).toEqual(['table']))
})

it("takes no longer for a stranger's blanks than for anything else", () => {
  const blanks = ' '.repeat(250_000)
  const hostile = [`|\n${blanks}x`, `|\n-${blanks}x`, `a${blanks}b`, '```' + '\n'.repeat(250_000) + 'x']
  for (const text of hostile) expect(readResult({ content: [{ type: 'text', text }] }).texts).toEqual([text])
  const data = `${blanks}!`
  const [part] = readResult({ content: [{ type: 'image', data, mimeType: 'image/png' }] }).parts
  expect(part?.kind).toBe('held')
})
