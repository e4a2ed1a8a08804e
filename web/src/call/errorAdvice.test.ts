import { expect, it } from 'vitest'
import { adviceOn, readAdvice } from './errorAdvice'

it('the advice on an error is what its page says', () => {
  const page = '# `x.y`\n\nShort.\n\n## What it means\nIt `broke`.\n\n## What to do\nMend it, see [there](there.md).\n'
  expect(readAdvice(page)).toEqual({ means: 'It `broke`.', todo: 'Mend it, see there.' })
})

it('every code of the manual has its advice, and no other', () => {
  expect(adviceOn('refused.read_only')?.todo).toContain('mode = "write"')
  expect(adviceOn('no.such_code')).toBeNull()
})
