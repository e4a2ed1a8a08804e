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
    draw: 'bars',
    // The last minute has an end.
    times: ['10:00', '10:01', '10:02'].map((clock) => secondsOf(`2026-11-15T${clock}:00Z`)),
    series: [{ label: 'calls', values: [3, 7, null] }],
  })
})

const minutes = (...rows: [number, ...unknown[]][]) =>
  pictureOf(
    answer(
      ['minute', 'errors', 'calls'],
      rows.map(([minute, ...values]) => [`2026-11-15T10:${String(minute).padStart(2, '0')}:00`, ...values]),
    ),
  )

test('minutes without a row are gaps between bars, and no line slopes over them', () => {
  const picture = minutes([0, 1, 5], [1, 1, 5], [40, 1, 5])
  expect(picture).toMatchObject({ kind: 'time', draw: 'bars' })
})

test('of bars the tallest stand behind', () => {
  const picture = minutes([0, 1, 5], [1, 1, 5])
  expect(picture?.kind === 'time' && picture.series.map((one) => one.label)).toEqual(['calls', 'errors'])
})

test('moments that lie on no grid are points, also when several share one', () => {
  const moments = (...texts: string[]) => pictureOf(answer(['ts', 'n'], texts.map((text) => [text, 1])))
  expect(moments('2026-11-15T10:00:00.123', '2026-11-15T10:00:01.456')).toMatchObject({ draw: 'points' })
  expect(moments('2026-11-15T10:00:00', '2026-11-15T10:00:00')).toMatchObject({ draw: 'points' })
  expect(moments('2026-11-15T10:00:00', '2026-11-15T10:00:01', '2026-11-16T10:00:00')).toMatchObject({ draw: 'points' })
})

test('months are buckets too, though none is as long as the next', () => {
  const months = ['2026-01-01', '2026-02-01', '2026-03-01', '2026-06-01'].map((month) => [month, 1])
  expect(pictureOf(answer(['month', 'n'], months))).toMatchObject({ draw: 'bars' })
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
