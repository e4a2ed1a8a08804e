import { describe, expect, it } from 'vitest'
import { changedValues, visible, wordDiff } from './wordDiff'

describe('wordDiff', () => {
  it('tells words that were added and removed', () => {
    expect(wordDiff('Adds two numbers.', 'Adds three numbers.')).toEqual([
      { text: 'Adds ', change: 'same' },
      { text: 'two', change: 'removed' },
      { text: 'three', change: 'added' },
      { text: ' numbers.', change: 'same' },
    ])
  })
  it('shows a text as replaced when comparing would take too long', () => {
    const one = Array.from({ length: 2_000 }, (_, at) => `a${at}`).join(' ')
    const two = Array.from({ length: 2_000 }, (_, at) => `b${at}`).join(' ')
    expect(wordDiff(one, two).map((piece) => piece.change)).toEqual(['removed', 'added'])
  })
  it('makes visible what is not seen', () => {
    expect(visible('a\u200bb\u202e\u{e0041}')).toBe('a⟨U+200B⟩b⟨U+202E⟩⟨U+E0041⟩')
  })
  it('names the place of each value that differs', () => {
    const before = { name: 'add', inputSchema: { a: { type: 'number' } } }
    const after = { name: 'add', inputSchema: { a: { type: 'string' } }, title: 'Sum' }
    expect(changedValues(before, after).map((value) => value.place)).toEqual(['inputSchema.a.type', 'title'])
    expect(changedValues(null, { name: 'x' })).toEqual([{ place: 'name', pieces: [{ text: 'x', change: 'added' }] }])
  })
})
