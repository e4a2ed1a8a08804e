// Numbers under each other by their decimal point: how much each needs behind it. Pure.

const MOST = 12 // a column of floats with seventeen places each is not worth a screen
const PLAIN = /^-?\d+(?:\.(\d+))?$/

const placesOf = (text: string) => Math.min(PLAIN.exec(text)?.[1]?.length ?? 0, MOST)

/** The most decimal places of any of them. */
export function mostPlaces(texts: Iterable<string>): number {
  let most = 0
  for (const text of texts) most = Math.max(most, placesOf(text))
  return most
}

/** Blanks that bring the point of `text` under that of a number with so many places. Each is as wide as a digit. */
export function padding(text: string, places: number): string {
  const own = placesOf(text)
  return '\u00a0'.repeat(Math.max(0, places - own + (places && !own ? 1 : 0)))
}
