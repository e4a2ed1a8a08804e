import { describe, expect, it } from 'vitest'
import { asCsv, asJson, asTsv, findRows, sortRows, type Column } from './tableText'

type Pair = [string | null, number | null]
const columns: Column<Pair>[] = [
  { key: 'name', label: 'name', value: (row) => row[0] },
  { key: 'n', label: 'n', value: (row) => row[1], isNumber: true },
]
const rows: Pair[] = [
  ['b\t"x"', 2],
  ['=1+1', null],
  [null, 10],
]
const order = (isDown: boolean) => sortRows(rows, columns, { key: 'n', isDown }).map((row) => row[1])

describe('a table', () => {
  it('sorts numbers as numbers and nothing last, up and down', () => {
    expect(order(false)).toEqual([2, 10, null])
    expect(order(true)).toEqual([10, 2, null])
  })
  it('is searched in all cells without case, and a blank finds all', () => {
    expect(findRows(rows, columns, ' B').map((row) => row[1])).toEqual([2])
    expect(findRows(rows, columns, '10')).toEqual([[null, 10]])
    expect(findRows(rows, columns, ' ')).toBe(rows)
  })
  it('keeps a row on a line as TSV', () => expect(asTsv(columns, rows).split('\n')[1]).toBe('b "x"\t2'))
  it('quotes CSV and runs no formula in a spreadsheet', () => {
    expect(asCsv(columns, rows).split('\r\n')).toEqual(['"name","n"', '"b\t""x""",2', `"'=1+1",""`, '"",10'])
  })
  it('keeps null as JSON', () => expect(JSON.parse(asJson(columns, rows))[1]).toEqual({ name: '=1+1', n: null }))
})
