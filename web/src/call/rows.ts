// Which JSON is a table: a list of objects, or columns with rows of values. Pure.

import { isDigits, isObject } from '@/format/parseJson'

export interface Rows {
  columns: { label: string; isNumber: boolean }[]
  rows: unknown[][]
}

const MOST_COLUMNS = 60 // wider than that is a list of documents, better read as JSON

const isNumeric = (value: unknown) => typeof value === 'number' || isDigits(value)

function withColumns(labels: string[], rows: unknown[][]): Rows {
  const columns = labels.map((label, n) => {
    const known = rows.map((row) => row[n]).filter((value) => value !== null && value !== undefined)
    return { label, isNumber: known.length > 0 && known.every(isNumeric) }
  })
  return { columns, rows }
}

function fromObjects(list: unknown[]): Rows | null {
  if (!list.length || !list.every(isObject)) return null
  const labels = [...new Set(list.flatMap((row) => Object.keys(row)))]
  if (!labels.length || labels.length > MOST_COLUMNS) return null
  return withColumns(
    labels,
    list.map((row) => labels.map((label) => row[label])),
  )
}

function labelOf(column: unknown): string | null {
  if (typeof column === 'string') return column
  return isObject(column) && typeof column.name === 'string' ? column.name : null
}

/** {"columns": ["id", …] or [{"name": "id"}, …], "rows": [[1, …], …]} */
function fromColumns(value: Record<string, unknown>): Rows | null {
  if (!Array.isArray(value.columns) || !Array.isArray(value.rows) || !value.columns.length) return null
  const labels = value.columns.map(labelOf)
  if (!labels.every((label) => label !== null)) return null
  if (!value.rows.every((row): row is unknown[] => Array.isArray(row) && row.length === labels.length)) return null
  return withColumns(labels, value.rows)
}

export interface Tabled {
  tables: { title: string; rows: Rows }[]
  rest: Record<string, unknown> // what stood beside the tables
}

/** null when there is no table in it, at the top or one step below. */
export function tablesIn(value: unknown): Tabled | null {
  if (Array.isArray(value)) {
    const rows = fromObjects(value)
    return rows && { tables: [{ title: '', rows }], rest: {} }
  }
  if (!isObject(value)) return null
  const whole = fromColumns(value)
  if (whole) {
    const { columns: _columns, rows: _rows, ...rest } = value
    return { tables: [{ title: '', rows: whole }], rest }
  }
  const tabled: Tabled = { tables: [], rest: {} }
  for (const [title, member] of Object.entries(value)) {
    const rows = Array.isArray(member) ? fromObjects(member) : isObject(member) ? fromColumns(member) : null
    if (rows) tabled.tables.push({ title, rows })
    else tabled.rest[title] = member
  }
  return tabled.tables.length ? tabled : null
}
