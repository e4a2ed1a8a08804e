// What the palette can lead to, and what of it fits the words that were typed. Pure.

export interface Entry {
  key: string
  group: 'Pages' | 'Saved filters' | 'Servers' | 'Tools' | 'Sessions' | 'Calls' | 'Search'
  label: string
  about: string
  to: string
}

const MOST_OF_GROUP = 6

// What begins with a word comes before what only holds it; a name's parts begin anew.
function rank(label: string, words: readonly string[]): number {
  const text = label.toLowerCase()
  let sum = 0
  for (const word of words) {
    const at = text.indexOf(word)
    if (at < 0) return -1
    sum += at === 0 ? 0 : /[^a-z0-9]/.test(text[at - 1] ?? '') ? 1 : 2
  }
  return sum
}

/** Those that have all words, of each group the best few, in the order of the groups. */
export function fitting(entries: readonly Entry[], typed: string): Entry[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const found = new Map<string, { entry: Entry; rank: number }[]>()
  for (const entry of entries) {
    const [byName, byAll] = [rank(entry.label, words), rank(`${entry.label} ${entry.about}`, words)]
    if (byAll < 0) continue
    const group = found.get(entry.group) ?? []
    found.set(entry.group, [...group, { entry, rank: byName < 0 ? 10 + byAll : byName }])
  }
  return [...found.values()].flatMap((group) =>
    group
      .sort((a, b) => a.rank - b.rank)
      .slice(0, words.length ? MOST_OF_GROUP : undefined)
      .map(({ entry }) => entry),
  )
}

/** The beginning of an id, if it can be one: at least four of its characters. */
export function idStart(typed: string): string | undefined {
  const text = typed.trim().toLowerCase()
  return /^[0-9a-f][0-9a-f-]{3,35}$/.test(text) ? text : undefined
}
