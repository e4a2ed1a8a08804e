import { describe, expect, it } from 'vitest'
import { readSaved, savedQuery, withSaved } from './savedFilters'

const slow = { name: 'slow', address: '/tool-calls?order=slowest' }

describe('saved filters', () => {
  it('are read back, and nothing else is', () => {
    expect(readSaved(JSON.stringify([slow]))).toEqual([slow])
    const foreign = ['//elsewhere', 'https://elsewhere', 'javascript:x', '/\\elsewhere'].map((address) => ({ name: 'x', address }))
    for (const text of [null, '', '{', '{}', '[1,null,{"name":1}]', JSON.stringify(foreign)]) expect(readSaved(text)).toEqual([])
  })
  it('have each name once', () => {
    const newer = { name: 'slow', address: '/tool-calls?min_duration_ms=1000' }
    expect(withSaved([slow, { name: 'all', address: '/' }], newer)).toEqual([{ name: 'all', address: '/' }, newer])
  })
  it('do not hold which call is open', () => expect(savedQuery({ q: 'x', call: '1' })).toEqual({ q: 'x' }))
})
