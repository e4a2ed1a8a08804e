// What an error code means and what to do about it, out of docs/errors: one text for the page and the manual. A chunk of
// its own, loaded when an error is shown.

const pages = import.meta.glob<string>('../../../docs/errors/*.*.md', { query: '?raw', import: 'default', eager: true })

export interface Advice {
  means: string
  todo: string
}

function sectionOf(page: string, title: string): string {
  const found = page.split(/^## /m).find((section) => section.startsWith(`${title}\n`))
  return (
    found
      ?.slice(title.length)
      .trim()
      .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1') ?? ''
  )
}

export function readAdvice(page: string): Advice {
  return { means: sectionOf(page, 'What it means'), todo: sectionOf(page, 'What to do') }
}

export function adviceOn(code: string): Advice | null {
  const page = pages[`../../../docs/errors/${code}.md`]
  return page ? readAdvice(page) : null
}
