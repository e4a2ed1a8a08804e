import { describe, expect, it } from 'vitest'
import { createApp, h } from 'vue'
import { LONGEST_MARKDOWN, looksLikeMarkdown } from './looksLikeMarkdown'
import { renderMarkdown, safeAddress } from './markdown'

function shown(text: string): HTMLElement {
  const root = document.createElement('div')
  createApp({ render: () => h('div', renderMarkdown(text) ?? 'given up') }).mount(root)
  return root
}

describe('Markdown of a stranger', () => {
  it('becomes elements', () => {
    const root = shown('# Title\n\nSome **bold** and `code`.\n\n- one\n- two\n\n1. a\n\n> said\n\n```js\nlet a = "<b>"\n```')
    expect(root.querySelector('h3')?.textContent).toBe('Title')
    expect(root.querySelector('strong')?.textContent).toBe('bold')
    expect([...root.querySelectorAll('ul li')].map((item) => item.textContent)).toEqual(['one', 'two'])
    expect(root.querySelector('pre')?.textContent).toBe('let a = "<b>"')
  })
  it('shows HTML as it is written', () => {
    const root = shown('a <img src=x onerror=alert(1)> b\n\n<script>alert(2)</script>\n\n<iframe src="//x"></iframe>\n\n<div onclick=x>**in**</div>')
    expect(root.querySelectorAll('img, script, iframe, [onerror], [onclick]')).toHaveLength(0)
    expect(root.textContent).toContain('<img src=x onerror=alert(1)>')
    expect(root.textContent).toContain('<script>alert(2)</script>')
  })
  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\nscript:alert(1)',
    ' javascript:alert(1)',
    'data:text/html,<script>1</script>',
    'vbscript:x',
    'file:///etc/passwd',
    '/api/v1/call',
    '//elsewhere.invalid',
    'blob:http://a/b',
  ])('leads nowhere by %j', (address) => {
    expect(safeAddress(address)).toBeNull()
    expect(shown(`[go](<${address}>)`).querySelectorAll('a')).toHaveLength(0)
  })
  it('leads out with no word of where one came from', () => {
    const link = shown('[go](https://example.org/a "t")').querySelector('a')
    expect(link?.getAttribute('href')).toBe('https://example.org/a')
    expect(link?.getAttribute('rel')).toContain('noreferrer')
    expect(link?.getAttribute('target')).toBe('_blank')
  })
  it('loads no picture from elsewhere, and shows one that it holds', () => {
    const root = shown('![dot](https://example.org/p.png) ![in](data:image/png;base64,iVBORw0KGgo=) ![svg](data:image/svg+xml;base64,PHN2Zz4=)')
    expect([...root.querySelectorAll('img')].map((one) => one.getAttribute('alt'))).toEqual(['in'])
    expect(root.textContent).toContain('picture: dot (not loaded)')
  })
  it('reads entities as what they stand for, and never as markup', () => {
    const root = shown('Tom &amp; &lt;b&gt; &#x41;')
    expect(root.textContent).toBe('Tom & <b> A')
    expect(root.querySelector('b')).toBeNull()
  })
  it.each([
    ['brackets', '['],
    ['opened links', '[a]('],
    ['stars', '*a '],
    ['mixed emphasis', '*a_ '],
    ['underscores', '_'],
    ['backticks', '`a ``'],
    ['quotes', '>'],
    ['angle brackets', '<a '],
    ['table cells', '|a\n|-'],
    ['blank lists', '- '],
    ['spaces', ' '],
    ['html comments', '<!--'],
  ])('is read to its end when it is made of %s', (_, part) => {
    // A parser that is not linear would not come back from this before the runner gives up.
    const text = part.repeat(Math.floor(LONGEST_MARKDOWN / part.length))
    expect(shown(text).innerHTML).not.toBe('')
  })
})

describe('a text', () => {
  it.each(['# A\n\n- b\n- c', 'see [this](https://x.y)', 'a **b** c', '```\nx\n```'])('is Markdown: %j', (text) => {
    expect(looksLikeMarkdown(text)).toBe(true)
  })
  it.each(['plain words', '# a comment\nset x = 1', '- a: 1\n- b: 2', 'x'.repeat(LONGEST_MARKDOWN + 1), '2 * 3 * 4'])(
    'is none: %#',
    (text) => {
      expect(looksLikeMarkdown(text)).toBe(false)
    },
  )
})
