// An MCP result as parts a person can read: tables, decoded JSON, text, pictures, sound. Pure. Every byte of it is a
// stranger's: nothing here is ever markup, and a picture is only what came inside the answer itself.

import { tablesIn, type Rows } from '@/call/rows'
import { looksLikeMarkdown } from '@/content/looksLikeMarkdown'
import { bytesOf, isPicture, isSound, type Packed } from '@/content/packed'
import { isObject, tryJson } from '@/format/parseJson'
import { splitMarkdown } from './markdownTables'

export type Part =
  | { kind: 'table'; title: string; rows: Rows }
  | { kind: 'facts'; facts: [string, unknown][] }
  | { kind: 'json'; title: string; value: unknown }
  | { kind: 'text'; text: string }
  | { kind: 'markdown'; text: string }
  | { kind: 'role'; role: string } // who says what follows, in a prompt
  | { kind: 'image'; src: string; about: string }
  | { kind: 'audio'; type: string; base64: string; about: string }
  | { kind: 'packed'; packed: Packed; name: string } // bytes that are neither, to keep as a file
  | { kind: 'link'; uri: string; name: string; about: string; isHeld: boolean } // held: its content follows
  | { kind: 'held'; title: string; about: string } // what no browser should be given

export interface Reading {
  parts: Part[]
  texts: string[] // what the agent reads, word for word
  hasTable: boolean
}

const FENCE = '```'
const FENCED_AS_JSON = /^```(?:json)?$/i
const LOOKS_LIKE_JSON = /^\s*[[{]/
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

const isScalar = (value: unknown) => value === null || ['string', 'number', 'boolean'].includes(typeof value)
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function restParts(rest: Record<string, unknown>): Part[] {
  const scalars = Object.entries(rest).filter(([, value]) => isScalar(value))
  const deep = Object.fromEntries(Object.entries(rest).filter(([, value]) => !isScalar(value)))
  const parts: Part[] = scalars.length ? [{ kind: 'facts', facts: scalars }] : []
  return Object.keys(deep).length ? [...parts, { kind: 'json', title: 'Beside the table', value: deep }] : parts
}

function dataParts(value: unknown): Part[] {
  const tabled = tablesIn(value)
  if (!tabled) return [{ kind: 'json', title: '', value }]
  return [...tabled.tables.map(({ title, rows }): Part => ({ kind: 'table', title, rows })), ...restParts(tabled.rest)]
}

/** What a fence encloses, when it is all there is. Without a regex: those that say this take long on a stranger's text. */
function unfenced(text: string): string {
  const all = text.trim()
  const firstEnd = all.indexOf('\n')
  const isFenced = firstEnd > 0 && FENCED_AS_JSON.test(all.slice(0, firstEnd).trimEnd()) && all.endsWith(FENCE)
  return isFenced ? all.slice(firstEnd + 1, -FENCE.length) : text
}

function jsonIn(text: string): unknown {
  const inner = unfenced(text)
  return LOOKS_LIKE_JSON.test(inner) ? tryJson(inner) : undefined
}

function textParts(text: string, isMarkdown = looksLikeMarkdown(text)): Part[] {
  const value = jsonIn(text)
  if (value !== undefined) return dataParts(value)
  return splitMarkdown(text).map((segment): Part => {
    if (segment.kind === 'table') return { kind: 'table', title: '', rows: segment.rows }
    return { kind: isMarkdown ? 'markdown' : 'text', text: segment.text }
  })
}

/** Bytes of an answer, by what it says they are. */
function bytesPart(data: string, mime: string, name: string): Part {
  const base64 = data.replace(/\s/g, '')
  if (!base64 || !BASE64.test(base64)) return { kind: 'held', title: mime || name, about: 'Not shown: it holds no base64.' }
  const about = `${mime}, ${bytesOf(base64)} bytes`
  if (isPicture(mime)) return { kind: 'image', src: `data:${mime};base64,${base64}`, about }
  if (isSound(mime)) return { kind: 'audio', type: mime, base64, about }
  return { kind: 'packed', name, packed: { type: mime || 'binary', bytes: bytesOf(base64), base64 } }
}

function resourceParts(resource: Record<string, unknown>): Part[] {
  const mime = textOf(resource.mimeType)
  const uri = textOf(resource.uri)
  const head: Part = { kind: 'link', uri, name: '', about: mime, isHeld: true }
  if (typeof resource.text === 'string') {
    const says = mime.split(';')[0]?.trim() ?? ''
    const isMarkdown = says === 'text/markdown' || (['', 'text/plain'].includes(says) && looksLikeMarkdown(resource.text))
    return [head, ...textParts(resource.text, isMarkdown)]
  }
  return [head, bytesPart(textOf(resource.blob), mime, uri.split('/').pop() || 'resource')]
}

function blockParts(block: unknown): Part[] {
  if (!isObject(block)) return [{ kind: 'json', title: '', value: block }]
  if (block.type === 'text') return textParts(textOf(block.text))
  if (block.type === 'image' || block.type === 'audio') {
    return [bytesPart(textOf(block.data), textOf(block.mimeType), String(block.type))]
  }
  if (block.type === 'resource_link') {
    const about = [textOf(block.description), textOf(block.mimeType)].filter(Boolean).join(', ')
    return [{ kind: 'link', uri: textOf(block.uri), name: textOf(block.title) || textOf(block.name), about, isHeld: false }]
  }
  if (block.type === 'resource' && isObject(block.resource)) return resourceParts(block.resource)
  return [{ kind: 'json', title: textOf(block.type), value: block }]
}

const sameData = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

/** Text beside structured data tells the same again (the specification asks servers to): it is told once. */
function isRetold(block: unknown, structured: unknown): boolean {
  if (!isObject(block) || block.type !== 'text') return false
  const value = jsonIn(textOf(block.text))
  if (value !== undefined) return sameData(value, structured)
  const table = splitMarkdown(textOf(block.text)).find((segment) => segment.kind === 'table')
  const told = tablesIn(structured)?.tables[0]
  return !!table && !!told && table.rows.rows.length === told.rows.rows.length
}

const CONTENT_KEYS = new Set(['content', 'structuredContent', 'isError', '_meta', 'resultType'])

/** Of resources/read: what it read. Of prompts/get: who says what. */
function otherParts(result: Record<string, unknown>): Part[] | null {
  if (Array.isArray(result.contents) && result.contents.every(isObject)) return result.contents.flatMap(resourceParts)
  const { messages } = result
  if (!Array.isArray(messages) || !messages.every(isObject) || !messages.every((one) => isObject(one.content))) return null
  const says = messages.flatMap((one): Part[] => [{ kind: 'role', role: textOf(one.role) }, ...blockParts(one.content)])
  return typeof result.description === 'string' ? [{ kind: 'text', text: result.description }, ...says] : says
}

/** A result of tools/call, resources/read or prompts/get; of any other method, its value. */
export function readResult(result: unknown): Reading {
  const others = isObject(result) ? otherParts(result) : null
  if (others) return reading(others, [])
  const isCall = isObject(result) && (Array.isArray(result.content) || 'structuredContent' in result)
  if (!isCall) return reading(result === undefined ? [] : dataParts(result), [])
  const blocks: unknown[] = Array.isArray(result.content) ? result.content : []
  const structured = result.structuredContent ?? undefined
  const told = structured === undefined ? blocks : blocks.filter((block) => !isRetold(block, structured))
  const rest = Object.fromEntries(Object.entries(result).filter(([key]) => !CONTENT_KEYS.has(key)))
  const texts = blocks
    .filter(isObject)
    .filter((block) => block.type === 'text')
    .map((block) => textOf(block.text))
  const parts = [
    ...(structured === undefined ? [] : dataParts(structured)),
    ...told.flatMap(blockParts),
    ...restParts(rest),
  ]
  return reading(parts, texts)
}

const reading = (parts: Part[], texts: string[]): Reading => ({
  parts,
  texts,
  hasTable: parts.some((part) => part.kind === 'table'),
})
