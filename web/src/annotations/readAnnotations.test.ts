import { renderToString } from 'vue/server-renderer'
import { createSSRApp, h } from 'vue'
import { describe, expect, it } from 'vitest'
import AnnotationBadges from './AnnotationBadges.vue'
import { HINT_KEYS, isDestructive, readAnnotations, type HintKey } from './readAnnotations'

const DEFAULTS: Record<HintKey, boolean> = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
}

describe('the truth table of annotations', () => {
  for (const key of HINT_KEYS) {
    const hintOf = (annotations: Record<string, unknown> | null) =>
      readAnnotations(annotations).find((hint) => hint.key === key)

    it(`${key}: declared true is solid and holds`, () => {
      expect(hintOf({ [key]: true })).toMatchObject({ state: 'declared', holds: true })
    })
    it(`${key}: declared false is struck and does not hold`, () => {
      expect(hintOf({ [key]: false })).toMatchObject({ state: 'denied', holds: false })
    })
    it(`${key}: absent is dashed and holds as the specification says`, () => {
      expect(hintOf({})).toMatchObject({ state: 'default', holds: DEFAULTS[key] })
    })
    it(`${key}: no annotations at all are the same as an empty object`, () => {
      expect(hintOf(null)).toEqual(hintOf({}))
    })
    it(`${key}: what is not a boolean counts as absent`, () => {
      expect(hintOf({ [key]: 'yes' })).toMatchObject({ state: 'default' })
    })
  }

  it('destructive and idempotent are moot only for a tool declared read-only', () => {
    const moot = (annotations: Record<string, unknown>) =>
      readAnnotations(annotations).filter((hint) => hint.isMoot).map((hint) => hint.key)
    expect(moot({ readOnlyHint: true })).toEqual(['destructiveHint', 'idempotentHint'])
    expect(moot({ readOnlyHint: false })).toEqual([])
    expect(moot({})).toEqual([])
  })

  it.each([
    [null, true],
    [{}, true],
    [{ readOnlyHint: false }, true],
    [{ destructiveHint: true }, true],
    [{ destructiveHint: false }, false],
    [{ readOnlyHint: true }, false],
    [{ readOnlyHint: true, destructiveHint: true }, false],
  ])('a call of a tool with %j asks first: %s', (annotations, asks) => {
    expect(isDestructive(annotations)).toBe(asks)
  })
})

describe('AnnotationBadges', () => {
  const render = (props: Record<string, unknown>) =>
    renderToString(createSSRApp({ render: () => h(AnnotationBadges as never, props) }))

  it('shows each of the three states', async () => {
    const html = await render({ annotations: { readOnlyHint: false, destructiveHint: true } })
    expect(html).toMatch(/data-hint="readOnlyHint"[^>]*data-state="denied"/)
    expect(html).toMatch(/data-hint="destructiveHint"[^>]*data-state="declared"/)
    expect(html).toMatch(/data-hint="openWorldHint"[^>]*data-state="default"/)
  })
  it('says in words what its colours say, also when compact', async () => {
    const html = await render({ annotations: null, compact: true })
    expect(html).toContain('destructiveHint: may overwrite or delete (not declared; the specification&#39;s default is true)')
  })
})
