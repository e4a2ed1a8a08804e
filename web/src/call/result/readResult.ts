// An MCP result as parts a person can read: tables, decoded JSON, text, images. Pure. Every byte of it is a stranger's:
// nothing here is ever markup, and an image is only what came inside the answer itself.

import { isObject, tryJson } from '@/format/parseJson'
import { splitMarkdown } from './markdownTables'
import { tablesIn, type Rows } from '@/call/rows'

export type Part =
  | { kind: 'table'; title: string; rows: Rows }
  | { kind: 'facts'; facts: [string, unknown][] }
  | { kind: 'json'; title: string; value: unknown }
  | { kind: 'text'; text: string }
  | { kind: 'image'; src: string; about: string }
  | { kind: 'link'; uri: string; name: string; about: string }
  | { kind: 'held'; title: string; about: string } // audio, and images that no browser should be given

export interface Reading {
  parts: Part[]
  texts: string[] // what the agent reads, word for word
  hasTable: boolean
}

const FENCE = '```'
const FENCED_AS_JSON = /^```(?:json)?$/i
const LOOKS_LIKE_JSON = /^\s*[[{]/
const SHOWN_IMAGES = /^image\/(png|jpeg|gif|webp|avif)$/
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

const isScalar = (value: unknown) => value === null || ['string', 'number', 'boolean'].includes(typeof value)
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const bytesOf = (base64: string) => Math.floor((base64.replace(/[\s=]/g, '').length * 3) / 4)

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

function textParts(text: string): Part[] {
  const value = jsonIn(text)
  if (value !== undefined) return dataParts(value)
  return splitMarkdown(text).map((segment): Part =>
    segment.kind === 'table' ? { kind: 'table', title: '', rows: segment.rows } : segment,
  )
}

function imagePart(data: string, mime: string): Part {
  const packed = data.replace(/\s/g, '')
  if (SHOWN_IMAGES.test(mime) && packed && BASE64.test(packed)) {
    return {
      kind: 'image',
      src: `data:${mime};base64,${packed}`,
      about: `${mime}, ${bytesOf(data)} bytes`,
    }
  }
  return { kind: 'held', title: mime || 'image', about: 'Not shown: not a picture held in the answer itself.' }
}

function resourceParts(resource: Record<string, unknown>): Part[] {
  const mime = textOf(resource.mimeType)
  const head: Part = { kind: 'link', uri: textOf(resource.uri), name: '', about: mime }
  if (typeof resource.text === 'string') return [head, ...textParts(resource.text)]
  const blob = textOf(resource.blob)
  if (mime.startsWith('image/')) return [head, imagePart(blob, mime)]
  return [head, { kind: 'held', title: mime || 'binary', about: `${bytesOf(blob)} bytes, not shown` }]
}

function blockParts(block: unknown): Part[] {
  if (!isObject(block)) return [{ kind: 'json', title: '', value: block }]
  if (block.type === 'text') return textParts(textOf(block.text))
  if (block.type === 'image') return [imagePart(textOf(block.data), textOf(block.mimeType))]
  if (block.type === 'audio') {
    return [
      {
        kind: 'held',
        title: textOf(block.mimeType) || 'audio',
        about: `${bytesOf(textOf(block.data))} bytes of sound`,
      },
    ]
  }
  if (block.type === 'resource_link') {
    const about = [textOf(block.description), textOf(block.mimeType)].filter(Boolean).join(', ')
    return [{ kind: 'link', uri: textOf(block.uri), name: textOf(block.title) || textOf(block.name), about }]
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

/** A result of tools/call; of any other method, its value. */
export function readResult(result: unknown): Reading {
  const isCall = isObject(result) && (Array.isArray(result.content) || 'structuredContent' in result)
  if (!isCall) return reading(result === undefined ? [] : dataParts(result), [])
  const blocks: unknown[] = Array.isArray(result.content) ? result.content : []
  const structured = result.structuredContent ?? undefined
  const told = structured === undefined ? blocks : blocks.filter((block) => !isRetold(block, structured))
  const others = Object.fromEntries(Object.entries(result).filter(([key]) => !CONTENT_KEYS.has(key)))
  const texts = blocks
    .filter(isObject)
    .filter((block) => block.type === 'text')
    .map((block) => textOf(block.text))
  const parts = [
    ...(structured === undefined ? [] : dataParts(structured)),
    ...told.flatMap(blockParts),
    ...restParts(others),
  ]
  return reading(parts, texts)
}

const reading = (parts: Part[], texts: string[]): Reading => ({
  parts,
  texts,
  hasTable: parts.some((part) => part.kind === 'table'),
})
