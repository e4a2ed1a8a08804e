import { expect, it } from 'vitest'
import { selectFrom } from './selectFrom'

it('names columns and table, and quotes what needs it as the engine does', () => {
  const table = { database: 'shop', name: 'Order "x"', columns: ['id', 'order', 'Name'] }
  expect(selectFrom(table, 'postgres', 50)).toBe('SELECT id, "order", "Name"\nFROM shop."Order ""x"""\nLIMIT 50')
  expect(selectFrom({ ...table, name: 'a`b' }, 'mariadb', 5)).toBe('SELECT id, `order`, `Name`\nFROM shop.`a``b`\nLIMIT 5')
})
