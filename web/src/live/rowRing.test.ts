import { describe, expect, it } from 'vitest'
import { RowRing } from './rowRing'

const row = (n: number, outcome: string | null = 'answered', response_tokens: number | null = null) => ({
  id: `call-${n}`,
  timestamp: new Date(n * 1000).toISOString(),
  outcome,
  response_tokens,
})
const ids = (ring: RowRing<ReturnType<typeof row>>) => ring.rows.map((one) => one.id)

describe('the ring of rows', () => {
  it('has each call once, newest first, however they come', () => {
    const ring = new RowRing<ReturnType<typeof row>>(10)
    ring.merge([row(2), row(1)])
    ring.merge([row(3), row(2), row(1)])
    expect(ids(ring)).toEqual(['call-3', 'call-2', 'call-1'])
  })
  it('lets the oldest go when it is full', () => {
    const ring = new RowRing<ReturnType<typeof row>>(3)
    ring.merge([row(1), row(2), row(3), row(4), row(5)])
    expect(ids(ring)).toEqual(['call-5', 'call-4', 'call-3'])
    expect(ring.has('call-1')).toBe(false)
  })
  it('keeps a settled call when it is told as started once more', () => {
    const ring = new RowRing<ReturnType<typeof row>>(3)
    ring.merge([row(1)])
    expect(ring.merge([row(1, null)])).toEqual([])
    expect(ring.rows[0]?.outcome).toBe('answered')
  })
  it('tells a call as news when it starts and when it settles, not when its tokens are counted', () => {
    const ring = new RowRing<ReturnType<typeof row>>(3)
    expect(ring.merge([row(1, null)])).toHaveLength(1)
    expect(ring.merge([row(1)])).toHaveLength(1)
    expect(ring.merge([row(1, 'answered', 12)])).toHaveLength(0)
    expect(ring.rows[0]?.response_tokens).toBe(12)
  })
})
