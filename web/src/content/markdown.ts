// Markdown of strangers as elements. Nothing of it is ever markup: marked only takes the text apart, and each piece
// becomes an element that we chose, with text in it. HTML is shown as it is written, a link leads only to where a
// person may want to go, and a picture from elsewhere is named and not fetched. Loaded when something is to be shown.

import { Marked, type Token, type Tokens } from 'marked'
import { h, type VNode } from 'vue'
import { isPicture } from './packed'

type Piece = VNode | string

const parser = new Marked({ gfm: true })
const LINKS = new Set(['http:', 'https:', 'mailto:'])
const DATA_PICTURE = /^data:(image\/[a-z]+);base64,[A-Za-z0-9+/]+={0,2}$/
const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' }
const HEADINGS = ['text-base font-semibold', 'text-sm font-semibold', 'text-xs font-semibold']
const LINE = /^<br\s*\/?>$/i
const COMMENT = /^<!--[^]*-->\s*$/

/** The address, when a click may go there; null for scripts, data, and whatever is relative to us. */
export function safeAddress(address: string): string | null {
  try {
    const url = new URL(address)
    return LINKS.has(url.protocol) ? url.href : null
  } catch {
    return null
  }
}

/** The few entities that people write; others stay as they are written. */
function decoded(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,4}));/gi, (whole, ten, sixteen, name) => {
    if (name) return NAMED[String(name).toLowerCase()] ?? whole
    const point = ten ? Number(ten) : Number.parseInt(String(sixteen), 16)
    return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole
  })
}

const all = (tokens: Token[] | undefined): Piece[] => (tokens ?? []).flatMap(piece)

function link(token: Tokens.Link): Piece[] {
  const address = safeAddress(token.href)
  // Where it leads is not what it says: the address of what cannot be followed is told.
  if (!address) return [...all(token.tokens), ` (${token.href})`]
  const look = { class: 'link link-primary', href: address, target: '_blank', rel: 'noopener noreferrer nofollow', title: address }
  return [h('a', look, all(token.tokens))]
}

function picture(token: Tokens.Image): Piece[] {
  const type = DATA_PICTURE.exec(token.href)?.[1]
  if (type && isPicture(type)) return [h('img', { src: token.href, alt: token.text, class: 'max-h-80 max-w-full' })]
  const address = safeAddress(token.href)
  const words = `picture${token.text ? `: ${token.text}` : ''} (not loaded)`
  const look = { class: 'inline-block rounded-sm border border-dashed border-line px-1.5 text-2xs text-dim' }
  if (!address) return [h('span', look, words)]
  const leading = { href: address, target: '_blank', rel: 'noopener noreferrer nofollow', title: address }
  return [h('a', { ...look, ...leading }, words)]
}

function markup(token: Tokens.HTML | Tokens.Tag): Piece[] {
  const text = token.raw.trimEnd()
  if (LINE.test(text)) return [h('br')]
  if (COMMENT.test(text)) return []
  return [h('code', { class: 'font-mono text-dim break-words whitespace-pre-wrap' }, text)]
}

function list(token: Tokens.List): Piece[] {
  const items = token.items.map((item) => {
    const box = item.task ? [h('span', { class: 'mr-1' }, item.checked ? '☑' : '☐')] : []
    return h('li', { class: item.task ? 'list-none' : '' }, [...box, ...all(item.tokens)])
  })
  const start = token.ordered && token.start !== 1 && token.start !== '' ? { start: token.start } : {}
  return [h(token.ordered ? 'ol' : 'ul', { class: `${token.ordered ? 'list-decimal' : 'list-disc'} pl-5`, ...start }, items)]
}

function table(token: Tokens.Table): Piece[] {
  const look = 'border border-line px-2 py-0.5 text-left'
  const head = token.header.map((cell) => h('th', { class: `${look} font-medium`, scope: 'col' }, all(cell.tokens)))
  const rows = token.rows.map((row) => h('tr', row.map((cell) => h('td', { class: look }, all(cell.tokens)))))
  const whole = h('table', { class: 'border-collapse' }, [h('thead', h('tr', head)), h('tbody', rows)])
  return [h('div', { class: 'overflow-x-auto', tabindex: 0, role: 'region', 'aria-label': 'Table' }, whole)]
}

function piece(token: Token): Piece[] {
  const one = token as Tokens.Generic
  switch (token.type) {
    case 'space':
    case 'def':
      return []
    case 'heading': {
      // Below the headings of the page itself.
      const level = Math.min(6, Number(one.depth) + 2)
      return [h(`h${level}`, { class: HEADINGS[Math.min(Number(one.depth), 3) - 1] }, all(one.tokens))]
    }
    case 'paragraph':
      return [h('p', all(one.tokens))]
    case 'blockquote':
      return [h('blockquote', { class: 'flex flex-col gap-2 border-l-2 border-line pl-3 text-dim' }, all(one.tokens))]
    case 'list':
      return list(token as Tokens.List)
    case 'code': {
      const look = 'overflow-x-auto rounded-sm bg-base-200 px-3 py-2 font-mono leading-5'
      return [h('pre', { class: look, tabindex: 0 }, String(one.text))]
    }
    case 'table':
      return table(token as Tokens.Table)
    case 'hr':
      return [h('hr', { class: 'border-line' })]
    case 'html':
      return markup(token as Tokens.HTML)
    case 'strong':
      return [h('strong', { class: 'font-semibold' }, all(one.tokens))]
    case 'em':
      return [h('em', all(one.tokens))]
    case 'del':
      return [h('del', all(one.tokens))]
    case 'codespan':
      return [h('code', { class: 'rounded-sm bg-base-200 px-1 font-mono' }, String(one.text))]
    case 'br':
      return [h('br')]
    case 'link':
      return link(token as Tokens.Link)
    case 'image':
      return picture(token as Tokens.Image)
    case 'text':
      return one.tokens ? all(one.tokens) : [decoded(one.text)]
    default:
      return [String(one.text ?? one.raw)]
  }
}

/** null for a text that cannot be taken apart: it is shown as it is. */
export function renderMarkdown(text: string): Piece[] | null {
  try {
    return all(parser.lexer(text))
  } catch {
    return null // nested beyond what the parser bears
  }
}
