import { describe, expect, it } from 'vitest'
import { fitting, idStart, type Entry } from './paletteEntries'

const entry = (group: Entry['group'], label: string, about = ''): Entry => ({ key: `${group} ${label}`, group, label, about, to: '/' })
const all = [
  entry('Pages', 'Servers'),
  entry('Pages', 'Sessions'),
  entry('Tools', 'demo__query', 'Runs SQL'),
  entry('Tools', 'queries'),
  entry('Tools', 'my_requery'),
]
const labels = (typed: string) => fitting(all, typed).map(({ label }) => label)

describe('the palette', () => {
  it('lists all of it until something is typed', () => expect(labels('')).toHaveLength(5))
  it('ranks what begins so before what holds it', () => expect(labels('quer')).toEqual(['queries', 'demo__query', 'my_requery']))
  it('wants every word, in a name or what is said about it', () => {
    expect(labels('demo sql')).toEqual(['demo__query'])
    expect(labels('demo nothing')).toEqual([])
  })
  it('keeps a few of each group', () => {
    const many = Array.from({ length: 20 }, (_, n) => entry('Tools', `tool ${n}`))
    expect(fitting(many, 'tool')).toHaveLength(6)
  })
  it.each([
    ['01a1ec0b-0ce0', '01a1ec0b-0ce0'],
    [' 01A1 ', '01a1'],
    ['01a', undefined],
    ['demo', undefined],
  ])('takes %j for the beginning of an id: %j', (typed, id) => expect(idStart(typed)).toBe(id))
})
