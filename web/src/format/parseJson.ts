// JSON as it is, numbers included: 9007199254740993 is not a number JavaScript can hold, and an order id that is off by
// one is worse than none. Where the browser tells a number's source text (Chrome 114, Firefox 135, Safari 18.4), a
// number that would change stays text that JSON.stringify writes without quotes; elsewhere it is rounded as ever.

interface SourceText {
  source?: string
}
type Reviver = (this: unknown, key: string, value: unknown, context?: SourceText) => unknown
const { rawJSON } = JSON as unknown as { rawJSON?: (text: string) => object }

const keepDigits: Reviver = (_key, value, context) => {
  if (typeof value !== 'number' || !context?.source || !rawJSON) return value
  const isExact = Number.isInteger(value)
    ? Number.isSafeInteger(value)
    : Math.abs(value) !== Infinity && context.source.length <= 17
  return isExact ? value : rawJSON(context.source)
}

/** Throws a SyntaxError where JSON.parse does. */
export function parseJson(text: string): unknown {
  return JSON.parse(text, keepDigits as (this: unknown, key: string, value: unknown) => unknown)
}

/** undefined for text that is not JSON, such as one the record has cut. */
export function tryJson(text: string | null | undefined): unknown {
  if (text === null || text === undefined) return undefined
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isDigits(value)

/** A number kept as its digits. */
export function isDigits(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null && 'rawJSON' in value
}
