import { expect, test } from 'vitest'
import { fieldsOf, fill, typedFrom } from './schemaForm'

const schema = {
  type: 'object',
  properties: {
    limit: { type: 'integer', default: 50 },
    query: { type: 'string', description: 'One statement' },
    exact: { type: 'boolean' },
    format: { enum: ['json', 'markdown'] },
    tags: { type: 'array', items: { type: 'string' } },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  },
  required: ['query'],
}
const fields = fieldsOf(schema)

test('required fields come first, each with the kind that its schema says', () => {
  expect(fields.map((field) => [field.name, field.kind, field.isRequired])).toEqual([
    ['query', 'text', true],
    ['limit', 'integer', false],
    ['exact', 'boolean', false],
    ['format', 'choice', false],
    ['tags', 'json', false],
    ['note', 'text', false],
  ])
  expect(fields[1]?.placeholder).toBe('default 50')
})

test('what was typed becomes arguments of the right types, and what was not is left out', () => {
  const typed = { query: 'SELECT 1', limit: '5', exact: 'false', format: 'json', tags: '["a"]' }
  expect(fill(fields, typed)).toEqual({
    arguments: { query: 'SELECT 1', limit: 5, exact: false, format: 'json', tags: ['a'] },
    faults: {},
  })
})

test('each fault says what is wanted', () => {
  const { faults } = fill(fields, { limit: '1.5', tags: '[' })
  expect(faults.query).toBe('is needed')
  expect(faults.limit).toContain('whole number')
  expect(faults.tags).toContain('JSON')
  expect(fill(fields, { query: 'x', limit: '9007199254740993' }).faults.limit).toContain('2^53')
})

test('a schema without properties, or a hostile one, gives no fields', () => {
  expect(fieldsOf({})).toEqual([])
  expect(fieldsOf({ properties: 7, required: 'x' })).toEqual([])
  expect(fieldsOf({ properties: { a: null } })[0]?.kind).toBe('json')
})

test('shows given arguments in its fields, gives them back the same, and drops none that it has no field for', () => {
  const fields = fieldsOf({
    properties: { sql: { type: 'string' }, n: { type: 'integer' }, on: { type: 'boolean' }, any: {}, list: { type: 'array' } },
  })
  const given = { sql: 'SELECT 1', n: 3, on: false, any: 'text', list: [1, { a: 2 }], other: null }
  const { typed, rest } = typedFrom(fields, given)
  expect(rest).toEqual({ other: null })
  expect({ ...fill(fields, typed).arguments, ...rest }).toEqual(given)
})
