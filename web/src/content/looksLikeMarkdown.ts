// Whether a text reads better as Markdown. Pure, and quick on any text: no repetition inside a repetition.

// A parser may take long over a text that was written for it: this much it reads in a moment (markdown.test.ts).
export const LONGEST_MARKDOWN = 30_000

const SURE = [/^(?:```|~~~)/m, /\[[^\]\n]{1,200}\]\([^)\s]{1,500}\)/, /\*\*[^*\n]{1,200}\*\*/]
// Each of these also stands in files that are no Markdown: comments, YAML, logs.
const LIKELY = [/^#{1,6} \S/m, /^(?:[-*+]|\d{1,3}\.) \S.*\n(?:[-*+]|\d{1,3}\.) \S/m, /^> \S/m, /(?<!`)`[^`\n]{1,200}`(?!`)/]

export function looksLikeMarkdown(text: string): boolean {
  if (text.length > LONGEST_MARKDOWN) return false
  return SURE.some((sign) => sign.test(text)) || LIKELY.filter((sign) => sign.test(text)).length > 1
}
