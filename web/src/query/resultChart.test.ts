import { expect, test } from 'vitest'
import { pictureOf, secondsOf } from './resultChart'

const answer = (columns: string[], rows: unknown[][]) => ({
  columns,
  rows,
  row_count: rows.length,
  truncated: false,
  elapsed_ms: 1,
})

test('times with numbers are drawn over time, oldest first, whatever their order', () => {
  const picture = pictureOf(
    answer(
      ['minute', 'calls', 'tool'],
      [
        ['2026-11-15T10:01:00', 7, 'a'],
        ['2026-11-15T10:00:00', 3, 'b'],
      ],
    ),
  )
  expect(picture).toEqual({
    kind: 'time',
    times: [secondsOf('2026-11-15T10:00:00Z'), secondsOf('2026-11-15T10:01:00Z')],
    series: [{ label: 'calls', values: [3, 7] }],
  })
})

test('names with numbers are bars of the first number', () => {
  const picture = pictureOf(answer(['tool', 'server', 'calls', 'p95'], [['query', 'demo', 4, 1.5]]))
  expect(picture).toEqual({ kind: 'names', label: 'calls', bars: [{ name: 'query · demo', value: 4 }] })
})

test('nothing is drawn without numbers, without rows, or of numbers alone', () => {
  expect(pictureOf(answer(['a'], [['x']]))).toBeNull()
  expect(pictureOf(answer(['a', 'n'], []))).toBeNull()
  expect(pictureOf(answer(['n'], [[1]]))).toBeNull()
  expect(pictureOf(answer(['a', 'n'], [['x', null]]))).toBeNull()
})

test('a time without a zone is UTC, as the record writes it', () => {
  expect(secondsOf('2026-11-15 10:00:00')).toBe(secondsOf('2026-11-15T10:00:00Z'))
  expect(secondsOf('2026-11-15T12:00:00+02:00')).toBe(secondsOf('2026-11-15T10:00:00Z'))
})
