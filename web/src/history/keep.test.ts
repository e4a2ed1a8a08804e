import { expect, test } from 'vitest'
import { KeptEntries } from './keep'

test('what was kept at an entry is there for who comes back to it, once', () => {
  const kept = new KeptEntries()
  kept.arrive(3, false)
  kept.keep('rows', [1, 2])
  kept.arrive(4, false)
  kept.arrive(3, true)
  expect(kept.take('rows')).toEqual([1, 2])
  expect(kept.take('rows')).toBeUndefined()
})

test('an address that is followed anew begins anew, and so does all that lay ahead', () => {
  const kept = new KeptEntries()
  kept.arrive(3, false)
  kept.keep('rows', 'old')
  kept.arrive(2, true)
  kept.arrive(3, false)
  expect(kept.take('rows')).toBeUndefined()
  kept.arrive(2, true)
  kept.arrive(3, true)
  expect(kept.take('rows')).toBeUndefined()
})

test('only the entries that were left last are kept', () => {
  const kept = new KeptEntries()
  for (let at = 0; at < 20; at++) {
    kept.arrive(at, false)
    kept.keep('rows', at)
  }
  const found = Array.from({ length: 20 }, (_, at) => {
    kept.arrive(at, true)
    return kept.take('rows')
  })
  expect(found.filter((one) => one !== undefined)).toEqual([15, 16, 17, 18, 19])
})
