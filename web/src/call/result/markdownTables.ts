// The tables inside a Markdown text, and the text around them. Pure. Code blocks are left alone.

import type { Rows } from '@/call/rows'

export type Segment = { kind: 'text'; text: string } | { kind: 'table'; rows: Rows }

// Of a trimmed line, and no blank can be read in two ways: a stranger's text must not make it take long.
const RULE = /^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$/
const FENCE = /^\s*(```|~~~)/
const NUMBER = /^-?(0|[1-9]\d{0,14})(\.\d{1,9})?$/

function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inner.split(/(?<!(?<!\\)\\)\|/).map((cell) => cell.trim().replace(/\\([\\|])/g, '$1'))
}

function isHead(line: string, next: string | undefined): boolean {
  if (!line.includes('|') || next === undefined || !RULE.test(next.trim()) || !next.includes('-')) return false
  return cellsOf(line).length === cellsOf(next).length && (line.trim().startsWith('|') || cellsOf(line).length > 1)
}

function tableOf(head: string, lines: string[]): Rows {
  const labels = cellsOf(head)
  const cells = lines.map(cellsOf)
  const isNumber = labels.map(
    (_, n) => cells.length > 0 && cells.every((row) => row[n] === 'NULL' || NUMBER.test(row[n] ?? '')),
  )
  const rows = cells.map((row) =>
    labels.map((_, n) => {
      const text = row[n] ?? ''
      if (text === 'NULL') return null
      return isNumber[n] && String(Number(text)) === text ? Number(text) : text
    }),
  )
  return { columns: labels.map((label, n) => ({ label, isNumber: isNumber[n] ?? false })), rows }
}

export function splitMarkdown(text: string): Segment[] {
  const lines = text.split(/\r?\n/)
  const segments: Segment[] = []
  let plain: string[] = []
  let isCode = false
  const flush = () => {
    const joined = plain.join('\n').replace(/^\n+/, '').trimEnd()
    if (joined) segments.push({ kind: 'text', text: joined })
    plain = []
  }
  for (let n = 0; n < lines.length; n++) {
    const line = lines[n] ?? ''
    if (FENCE.test(line)) isCode = !isCode
    if (isCode || !isHead(line, lines[n + 1])) {
      plain.push(line)
      continue
    }
    flush()
    let end = n + 2
    while (end < lines.length && lines[end]?.includes('|')) end++
    segments.push({ kind: 'table', rows: tableOf(line, lines.slice(n + 2, end)) })
    n = end - 1
  }
  flush()
  return segments
}
