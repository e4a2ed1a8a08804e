// Ids are UUIDs of version 7: they begin with the moment they were made.

/** Milliseconds since 1970; 0 for an id of another kind. */
export function madeAt(id: string): number {
  const digits = id.replaceAll('-', '')
  return /^[0-9a-f]{12}7[0-9a-f]{19}$/i.test(digits) ? Number.parseInt(digits.slice(0, 12), 16) : 0
}
