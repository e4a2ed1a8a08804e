import { describe, expect, it } from 'vitest'
import { difference, inWords, lineDifference, type TableDifference } from './difference'

const answer = (value: unknown) => ({ content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }] })
const marks = (old: unknown, now: unknown) => (difference(answer(old), answer(now)) as TableDifference).rows.map((row) => row.mark)

describe('two tables', () => {
  const old = [
    { id: 1, name: 'a' },
    { id: 2, name: 'b' },
    { id: 3, name: 'c' },
  ]
  it('are compared row by row, by the column that names them', () => {
    const now = [
      { id: 2, name: 'B' },
      { id: 1, name: 'a' },
      { id: 4, name: 'd' },
    ]
    expect(marks(old, now)).toEqual(['changed', 'same', 'added', 'removed'])
    expect(inWords(difference(answer(old), answer(now)))).toBe('1 row added, 1 row removed, 1 row changed')
  })
  it('are the same in another order', () => {
    expect(inWords(difference(answer(old), answer([...old].reverse())))).toBe('')
  })
  it('are compared by whole rows where nothing names them, each as often as it is there', () => {
    const [x, y] = [{ a: 1, b: 1 }, { a: 1, b: null }]
    expect(marks([x, x, y], [x, y, y])).toEqual(['same', 'same', 'added', 'removed'])
  })
  it('of one row each are one row that changed', () => expect(marks([{ n: 1450 }], [{ n: 20 }])).toEqual(['changed']))
  it('may have other columns', () => {
    const found = difference(answer(old), answer(old.map(({ id }) => ({ id, more: 1 })))) as TableDifference
    expect(found.labels).toEqual(['id', 'more', 'name'])
    expect(found.rows.map((row) => row.mark)).toEqual(['changed', 'changed', 'changed'])
  })
})

describe('two texts', () => {
  it('are compared line by line', () => {
    const lines = lineDifference('a\nb\nc\nd', 'a\nx\nc\nd\ne')
    expect(lines.map((line) => line.mark[0] + line.text)).toEqual(['sa', 'rb', 'ax', 'sc', 'sd', 'ae'])
  })
  it('are an error and a table too', () => {
    const found = difference(answer([{ id: 1 }]), { ...answer('it failed'), isError: true })
    expect(found.kind).toBe('text')
    expect(inWords(found)).toMatch(/1 line added/)
  })
  it('without a common line are told as a whole, however long', () => {
    const long = (letter: string) => Array.from({ length: 5_000 }, (_, n) => `${letter}${n}`).join('\n')
    expect(inWords({ kind: 'text', lines: lineDifference(long('a'), long('b')) })).toBe('5000 lines added, 5000 lines removed')
  })
})
