import { describe, expect, it } from 'vitest'
import { blanksOf, filled } from './uriTemplate'

describe('an address with blanks', () => {
  it('tells their names once, in order', () => {
    expect(blanksOf('db://{host}/{+path}{?q,limit}#{host}')).toEqual(['host', 'path', 'q', 'limit'])
    expect(blanksOf('file:///a')).toEqual([])
  })
  it.each([
    ['notes://{day}/{topic}', { day: 'mon day', topic: 'a/b' }, 'notes://mon%20day/a%2Fb'],
    ['file:///{+path}', { path: 'a/b c.txt' }, 'file:///a/b%20c.txt'],
    ['x://s{?q,limit}', { q: 'a&b', limit: '3' }, 'x://s?q=a%26b&limit=3'],
    ['x://s{?q,limit}', { limit: '3' }, 'x://s?limit=3'],
    ['x://s{?q}', {}, 'x://s'],
    ['x://{a,b}', { a: '1', b: '2' }, 'x://1,2'],
    ['x://s{/parts*}', { parts: 'a' }, 'x://s/a'],
  ])('%s is filled in', (template, values, address) => expect(filled(template, values as Record<string, string>)).toBe(address))
})
