import { describe, expect, it } from 'vitest'
import { mostPlaces, padding } from './decimals'

describe('decimal alignment', () => {
  it('is by the longest fraction, and none for whole numbers', () => {
    expect(mostPlaces(['1', '20.25', '-3.5', 'NULL', '1e30'])).toBe(2)
    expect(mostPlaces(['1', '20'])).toBe(0)
  })
  it('brings points under each other: all texts end in the same column after the point', () => {
    const ends = ['1', '20.25', '-3.5'].map((text) => {
      const whole = text + padding(text, 2)
      const point = text.includes('.') ? text.indexOf('.') : text.length
      return whole.length - point
    })
    expect(ends).toEqual([3, 3, 3])
    expect(padding('7', 0)).toBe('')
  })
})
