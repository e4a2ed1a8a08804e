// What a server said or asked during a call, in one line of words. Pure. Every byte of it is a stranger's: it is text, and
// an address in it is never a link.

import type { WholeCall } from '@/api/client'
import { isObject, tryJson } from '@/format/parseJson'

export type Said = WholeCall['said'][number]

export interface SaidWords {
  kind: 'progress' | 'log' | 'question' | 'notice'
  title: string
  text: string
  answer: string // to a question; empty where nobody answers
  variable: string // its colour, as a CSS variable
}

const DIM = '--cg-dim'
const LEVELS: Record<string, string> = {
  warning: '--cg-refused',
  error: '--cg-failed',
  critical: '--cg-failed',
  alert: '--cg-failed',
  emergency: '--cg-failed',
}
const UNANSWERED: Record<string, string> = {
  cancelled: 'taken back before it was answered',
  lost: 'never answered: the gateway stopped',
  refused: 'refused: the client was not asked',
}

const asText = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
const joined = (...parts: string[]) => parts.filter(Boolean).join(' · ')

/** The text of a message's content: one block, or several. */
function contentText(content: unknown): string {
  const blocks = Array.isArray(content) ? content : [content]
  return blocks
    .map((block) => (isObject(block) ? (block.type === 'text' ? asText(block.text) : `[${asText(block.type)}]`) : asText(block)))
    .join('\n')
}

function progressText({ progress, total, message }: Record<string, unknown>): string {
  const share = total === undefined ? asText(progress) : `${asText(progress)} of ${asText(total)}`
  return joined(share, asText(message))
}

function samplingText({ messages, systemPrompt }: Record<string, unknown>): string {
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  return (isObject(last) ? contentText(last.content) : '') || asText(systemPrompt)
}

function answerText(method: string, answer: Record<string, unknown>): string {
  if (method === 'elicitation/create') return joined(asText(answer.action), asText(answer.content))
  if (method === 'sampling/createMessage') return joined(contentText(answer.content), asText(answer.model))
  if (method === 'roots/list' && Array.isArray(answer.roots)) {
    return answer.roots.map((root) => (isObject(root) ? asText(root.uri) : asText(root))).join(', ') || 'none'
  }
  return asText(answer)
}

function answered({ method, outcome, answer }: Said): string {
  if (outcome === null) return 'waiting for the answer'
  const told = tryJson(answer)
  const words = isObject(told) ? ('message' in told ? asText(told.message) : answerText(method, told)) : (answer ?? '')
  return joined(UNANSWERED[outcome] ?? '', words)
}

const QUESTIONS: Record<string, [title: string, text: (params: Record<string, unknown>) => string]> = {
  'elicitation/create': ['asks the person', (params) => joined(asText(params.message), asText(params.url))],
  'sampling/createMessage': ['asks the model', samplingText],
  'roots/list': ['asks for the roots', () => ''],
}

export function wordsOf(said: Said): SaidWords {
  const params = tryJson(said.params)
  // Longer than the list tells: then it is no JSON, and its beginning says more than nothing.
  const known = isObject(params) ? params : null
  const raw = known ? '' : (said.params ?? '')
  if (said.method === 'notifications/progress')
    return { kind: 'progress', title: 'progress', text: known ? progressText(known) : raw, answer: '', variable: DIM }
  if (said.method === 'notifications/message') {
    const level = asText(known?.level)
    const text = known ? joined(asText(known.logger), asText(known.data)) : raw
    return { kind: 'log', title: joined('log', level), text, answer: '', variable: LEVELS[level] ?? DIM }
  }
  if (said.kind === 'notification')
    return { kind: 'notice', title: said.method, text: known ? asText(known) : raw, answer: '', variable: DIM }
  const [title, text] = QUESTIONS[said.method] ?? [`asks ${said.method}`, asText]
  return {
    kind: 'question',
    title,
    text: known ? text(known) : raw,
    answer: answered(said),
    variable: said.outcome === null ? '--cg-running' : said.outcome === 'answered' ? '--cg-open-world' : '--cg-failed',
  }
}
