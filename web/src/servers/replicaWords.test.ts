import { expect, test } from 'vitest'
import type { Replica, Server } from '@/api/client'
import { clockInWords, differsInWords, isClockWrong, lagInWords, whyNotUp } from './replicaWords'

const replica = (change: Partial<Replica>) => ({ differs: [], clock_offset_s: null, flush_lag_s: null, ...change }) as unknown as Replica

test('a clock is told with its sign, and is wrong beyond a second either way', () => {
  const told = [null, 0.0001, 0.012, -1.5].map((clock_offset_s) => clockInWords(replica({ clock_offset_s })))
  expect(told).toEqual(['–', '±0 ms', '+12 ms', '−1.5 s'])
  expect([null, 0.9, 1.1, -1.1].map((clock_offset_s) => isClockWrong(replica({ clock_offset_s })))).toEqual([false, false, true, true])
})

test('a record is up to date, behind by seconds, or not told of', () => {
  expect([0, 7, null].map((flush_lag_s) => lagInWords(replica({ flush_lag_s })))).toEqual(['up to date', '7 s behind', '–'])
})

test('what differs is named', () => {
  expect(differsInWords(replica({ differs: ['configuration', 'tokens'] }))).toEqual(['other configuration', 'other tokens'])
})

test('a server that is down on some replicas says where, one that is down on all says why', () => {
  const server = { detail: 'down on 1 of 2 replicas (a): refused', last_failure: { message: 'refused' } }
  const on = (total: number) => ({ ...server, replicas: { total, not_up: [{}] } }) as unknown as Server
  expect(whyNotUp(on(2))).toBe('down on 1 of 2 replicas (a): refused')
  expect(whyNotUp(on(1))).toBe('refused')
  expect(whyNotUp({ ...server, replicas: null } as unknown as Server)).toBe('refused')
})
