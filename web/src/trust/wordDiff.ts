// What changed between two definitions, word by word, with characters that are not seen made visible.

export interface Piece {
  text: string
  change: 'same' | 'added' | 'removed'
}
export interface ChangedValue {
  place: string // inputSchema.properties.path.description
  pieces: Piece[]
}

// A table of both texts' words: past this the whole value is shown as replaced.
const MAX_CELLS = 400_000
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\uddef]/g

/** `a⟨U+200B⟩b`: what a reader would not see, by its code. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (found) => {
    const code = found.codePointAt(0) ?? 0
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
  })
}

export function wordDiff(before: string, after: string): Piece[] {
  const one = words(before)
  const two = words(after)
  let start = 0
  while (start < one.length && start < two.length && one[start] === two[start]) start++
  let end = 0
  while (end < one.length - start && end < two.length - start && one[one.length - 1 - end] === two[two.length - 1 - end]) end++
  const middle = between(one.slice(start, one.length - end), two.slice(start, two.length - end))
  return joined([
    ...one.slice(0, start).map((text) => ({ text, change: 'same' as const })),
    ...middle,
    ...one.slice(one.length - end).map((text) => ({ text, change: 'same' as const })),
  ])
}

/** The values that differ, each with its place; of a definition that is new or gone, all of them. */
export function changedValues(before: unknown, after: unknown): ChangedValue[] {
  const one = values(before)
  const two = values(after)
  const places = [...new Set([...one.keys(), ...two.keys()])].sort()
  return places.flatMap((place) => {
    const was = one.get(place)
    const is = two.get(place)
    return was === is ? [] : [{ place, pieces: wordDiff(was ?? '', is ?? '') }]
  })
}

function words(text: string): string[] {
  return visible(text).match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []
}

function between(one: string[], two: string[]): Piece[] {
  const replaced: Piece[] = [
    ...one.map((text) => ({ text, change: 'removed' as const })),
    ...two.map((text) => ({ text, change: 'added' as const })),
  ]
  if (!one.length || !two.length || one.length * two.length > MAX_CELLS) return replaced
  const width = two.length + 1
  const longest = new Uint32Array((one.length + 1) * width)
  const at = (row: number, column: number) => longest[row * width + column] ?? 0
  for (let row = one.length - 1; row >= 0; row--) {
    for (let column = two.length - 1; column >= 0; column--) {
      longest[row * width + column] =
        one[row] === two[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const pieces: Piece[] = []
  let row = 0
  let column = 0
  while (row < one.length || column < two.length) {
    if (row < one.length && column < two.length && one[row] === two[column]) {
      pieces.push({ text: one[row++] ?? '', change: 'same' })
      column++
    } else if (row < one.length && (column === two.length || at(row + 1, column) >= at(row, column + 1))) {
      pieces.push({ text: one[row++] ?? '', change: 'removed' })
    } else {
      pieces.push({ text: two[column++] ?? '', change: 'added' })
    }
  }
  return pieces
}

function joined(pieces: Piece[]): Piece[] {
  const together: Piece[] = []
  for (const piece of pieces) {
    const last = together.at(-1)
    if (last?.change === piece.change) last.text += piece.text
    else together.push({ ...piece })
  }
  return together
}

function values(definition: unknown, place = '', found = new Map<string, string>()): Map<string, string> {
  if (definition === null || definition === undefined) return found
  if (Array.isArray(definition)) {
    definition.forEach((one, index) => values(one, `${place}[${index}]`, found))
  } else if (typeof definition === 'object') {
    for (const [name, one] of Object.entries(definition)) values(one, place ? `${place}.${name}` : name, found)
  } else {
    found.set(place || 'text', String(definition))
  }
  return found
}
