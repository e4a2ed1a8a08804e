// JSON for reading: indented, and JSON that is hidden in a string of the JSON taken out of it.

import { isDigits, parseJson } from './parseJson'

export interface Decoded {
  text: string
  isJson: boolean
  decoded: number // how many strings held JSON themselves
}

const LOOKS_LIKE_JSON = /^\s*[[{]/

function unfold(value: unknown, count: { decoded: number }): unknown {
  if (typeof value === 'string' && LOOKS_LIKE_JSON.test(value)) {
    try {
      const inner = parseJson(value)
      count.decoded += 1
      return unfold(inner, count)
    } catch {
      return value
    }
  }
  if (Array.isArray(value)) return value.map((item) => unfold(item, count))
  if (value !== null && typeof value === 'object' && !isDigits(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unfold(item, count)]))
  }
  return value
}

/** Text that is not JSON (cut, or never was) comes back as it is. */
export function decodeJson(source: unknown, unfoldStrings = true): Decoded {
  let value = source
  if (typeof source === 'string') {
    try {
      value = parseJson(source)
    } catch {
      return { text: source, isJson: false, decoded: 0 }
    }
  }
  const count = { decoded: 0 }
  const shown = unfoldStrings ? unfold(value, count) : value
  return { text: JSON.stringify(shown, null, 2) ?? '', isJson: true, decoded: count.decoded }
}
