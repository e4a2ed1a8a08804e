// A form from a tool's inputSchema: which fields, what they hold, and the arguments that come out. Pure.
// What a field cannot express (objects, arrays, unions) is written as JSON; nothing is refused here that the server
// might accept, except text that is no number or no JSON.

export type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'

export interface Field {
  name: string
  kind: FieldKind
  about: string
  isRequired: boolean
  isLong: boolean
  choices: string[]
  placeholder: string
}

type Schema = Record<string, unknown>
const isObject = (value: unknown): value is Schema => typeof value === 'object' && value !== null && !Array.isArray(value)
const LONG = /^(sql|query|code|text|content|body|prompt|message|script)$/i

/** `["string", "null"]` and `anyOf: [{…}, {type: null}]` are optional forms of the one type they hold. */
function plainType(schema: Schema): unknown {
  const options = [schema.type].flat().filter((type) => type !== 'null' && type !== undefined)
  if (options.length === 1) return options[0]
  const any = (schema.anyOf ?? schema.oneOf) as unknown
  if (Array.isArray(any)) {
    const types = any.filter(isObject).filter((one) => one.type !== 'null')
    if (types.length === 1 && types[0]) return plainType(types[0])
  }
  return undefined
}

function kindOf(schema: Schema): FieldKind {
  if (Array.isArray(schema.enum) && schema.enum.every((one) => typeof one === 'string')) return 'choice'
  const type = plainType(schema)
  if (type === 'string') return 'text'
  if (type === 'number' || type === 'integer' || type === 'boolean') return type
  return 'json'
}

export function fieldsOf(inputSchema: Schema): Field[] {
  const properties = isObject(inputSchema.properties) ? inputSchema.properties : {}
  const required = new Set(Array.isArray(inputSchema.required) ? inputSchema.required : [])
  const fields = Object.entries(properties).map(([name, found]): Field => {
    const schema = isObject(found) ? found : {}
    const kind = kindOf(schema)
    return {
      name,
      kind,
      about: typeof schema.description === 'string' ? schema.description : '',
      isRequired: required.has(name),
      isLong: kind === 'json' || (kind === 'text' && (LONG.test(name) || Number(schema.maxLength) > 500)),
      choices: kind === 'choice' ? (schema.enum as string[]) : [],
      placeholder: schema.default === undefined ? '' : `default ${JSON.stringify(schema.default)}`,
    }
  })
  return fields.sort((a, b) => Number(b.isRequired) - Number(a.isRequired))
}

/** What was typed, by field. Nothing typed is nothing sent, so that the server's own default holds. */
export type Typed = Record<string, string>

export interface Filled {
  arguments: Record<string, unknown>
  faults: Record<string, string>
}

function valueOf(field: Field, text: string): unknown {
  if (field.kind === 'boolean') return text === 'true'
  if (field.kind === 'number' || field.kind === 'integer') {
    const value = Number(text)
    if (!Number.isFinite(value) || (field.kind === 'integer' && !Number.isInteger(value))) {
      throw new Error(field.kind === 'integer' ? 'a whole number' : 'a number')
    }
    // Beyond that JavaScript would send another number than was typed.
    if (field.kind === 'integer' && !Number.isSafeInteger(value)) throw new Error('a number below 2^53; use JSON text')
    return value
  }
  if (field.kind === 'json') {
    try {
      return JSON.parse(text)
    } catch {
      throw new Error('JSON, such as [1, 2] or {"a": "b"}')
    }
  }
  return text
}

/** The other way: what a field shows of given arguments. What no field is for stays in `rest`. */
export function typedFrom(fields: Field[], given: Record<string, unknown>): { typed: Typed; rest: Record<string, unknown> } {
  const typed: Typed = {}
  const rest: Record<string, unknown> = {}
  const known = new Set(fields.map((field) => field.name))
  for (const [name, value] of Object.entries(given)) {
    if (!known.has(name)) rest[name] = value
    else typed[name] = typeof value === 'string' ? textFor(fields, name, value) : JSON.stringify(value)
  }
  return { typed, rest }
}

/** A text in a field of JSON is JSON too. */
const textFor = (fields: Field[], name: string, value: string) =>
  fields.find((field) => field.name === name)?.kind === 'json' ? JSON.stringify(value) : value

export function fill(fields: Field[], typed: Typed): Filled {
  const filled: Filled = { arguments: {}, faults: {} }
  for (const field of fields) {
    const text = typed[field.name] ?? ''
    if (text === '') {
      if (field.isRequired) filled.faults[field.name] = 'is needed'
      continue
    }
    try {
      filled.arguments[field.name] = valueOf(field, text)
    } catch (cause) {
      filled.faults[field.name] = `must be ${(cause as Error).message}`
    }
  }
  return filled
}
