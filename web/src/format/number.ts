// Counts, sizes and shares, as people read them.

import { MISSING } from './time'

const whole = new Intl.NumberFormat('en-US')
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

export function formatCount(value: number | null | undefined): string {
  return value === null || value === undefined ? MISSING : whole.format(value)
}

/** 950, 12.4K, 3.1M */
export function formatShort(value: number | null | undefined): string {
  return value === null || value === undefined ? MISSING : short.format(value)
}

export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return MISSING
  if (bytes < 1024) return `${bytes} B`
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KiB`
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`
}

export function formatShare(part: number, of: number): string {
  if (!of) return MISSING
  const share = (part / of) * 100
  return `${share > 0 && share < 10 ? share.toFixed(1) : Math.round(share)} %`
}

// The moment in milliseconds that a UUID of version 7 begins with: few ids share it, and it is a prefix, which the command
// line and the API take for the whole.
const SHORT_ID = 13

export function shortId(id: string): string {
  return id.slice(0, SHORT_ID)
}
