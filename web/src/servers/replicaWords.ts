// How a replica is told in a few words.

import type { Replica, Server } from '@/api/client'

const WARN_OFFSET_S = 1 // as the gateway: replicas/comparison.py

const DIFFERS: Record<string, string> = {
  configuration: 'other configuration',
  version: 'other version',
  tokens: 'other tokens',
}

export const differsInWords = (replica: Replica): string[] => replica.differs.map((what) => DIFFERS[what] ?? what)

export const isClockWrong = (replica: Replica): boolean => Math.abs(replica.clock_offset_s ?? 0) > WARN_OFFSET_S

/** "±0 ms", "+12 ms", "−1.5 s": ahead of the database's clock, or behind it. */
export function clockInWords(replica: Replica): string {
  const offset = replica.clock_offset_s
  if (offset === null) return '–'
  const ms = Math.round(Math.abs(offset) * 1000)
  const sign = ms === 0 ? '±' : offset > 0 ? '+' : '−'
  return sign + (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`)
}

/** How late its record is. Below three seconds nothing is told: rows wait about one for the next flush. */
export function lagInWords(replica: Replica): string {
  if (replica.flush_lag_s === null) return '–'
  return replica.flush_lag_s === 0 ? 'up to date' : `${replica.flush_lag_s} s behind`
}

/** Why a server is not up: where only some replicas say so, on how many. */
export function whyNotUp(server: Server): string {
  const on = server.replicas
  const isPartly = on !== null && on.total > 1 && on.not_up.length < on.total
  return isPartly ? server.detail : (server.last_failure?.message ?? server.detail)
}
