import { expect, test } from 'vitest'
import { lonelyOf } from './chartOptions'

test('a value between two gaps is a point of its own', () => {
  expect(lonelyOf([1, null, 2, 3, null, 4])).toEqual([0, 5])
  expect(lonelyOf([1, 2])).toEqual([])
  expect(lonelyOf([5])).toEqual([0])
  expect(lonelyOf([])).toEqual([])
})
