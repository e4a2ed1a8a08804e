// Tables as text, and their order. Pure.

export interface Column<Row> {
  key: string
  label: string
  value: (row: Row) => unknown
  isNumber?: boolean
  isMono?: boolean
  isPlain?: boolean // no tooltip with the whole text
  class?: string
}

export interface Sorting {
  key: string
  isDown: boolean
}

export function cellText(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The rows that hold the text in any of their cells, in their order. Letters are compared without case. */
export function findRows<Row>(rows: readonly Row[], columns: Column<Row>[], text: string): readonly Row[] {
  const sought = text.trim().toLowerCase()
  if (!sought) return rows
  return rows.filter((row) => columns.some((column) => cellText(column.value(row)).toLowerCase().includes(sought)))
}

function compare(a: unknown, b: unknown): number {
  if (a == null || b == null) return a == null ? (b == null ? 0 : 1) : -1 // nothing sorts last
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return cellText(a).localeCompare(cellText(b), 'en', { numeric: true })
}

export function sortRows<Row>(rows: readonly Row[], columns: Column<Row>[], sorting: Sorting | null): readonly Row[] {
  const column = columns.find((one) => one.key === sorting?.key)
  if (!column || !sorting) return rows
  const sign = sorting.isDown ? -1 : 1
  return [...rows].sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)]
    return x == null || y == null ? compare(x, y) : sign * compare(x, y)
  })
}

const flat = (text: string) => text.replace(/[\t\r\n]+/g, ' ')
// A leading = + - @ makes a spreadsheet run the cell; a quote before it keeps it text.
const quoted = (text: string) => `"${text.replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`
const blank = (value: unknown) => (value == null ? '' : cellText(value))

export function asTsv<Row>(columns: Column<Row>[], rows: readonly Row[]): string {
  const lines = rows.map((row) => columns.map((column) => flat(blank(column.value(row)))).join('\t'))
  return [columns.map((column) => column.label).join('\t'), ...lines].join('\n')
}

export function asCsv<Row>(columns: Column<Row>[], rows: readonly Row[]): string {
  const cell = (value: unknown) => (typeof value === 'number' ? String(value) : quoted(blank(value)))
  const lines = rows.map((row) => columns.map((column) => cell(column.value(row))).join(','))
  return [columns.map((column) => quoted(column.label)).join(','), ...lines].join('\r\n')
}

export function asMarkdown<Row>(columns: Column<Row>[], rows: readonly Row[]): string {
  const cell = (value: unknown) => flat(cellText(value)).replace(/[\\|]/g, '\\$&')
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  const rule = columns.map((column) => (column.isNumber ? '---:' : '---'))
  const head = [line(columns.map((column) => cell(column.label))), line(rule)]
  return [...head, ...rows.map((row) => line(columns.map((column) => cell(column.value(row)))))].join('\n')
}

export function asJson<Row>(columns: Column<Row>[], rows: readonly Row[]): string {
  const named = rows.map((row) => Object.fromEntries(columns.map((column) => [column.label, column.value(row) ?? null])))
  return JSON.stringify(named, null, 2)
}
