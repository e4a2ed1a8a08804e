// Addresses with blanks to fill in (RFC 6570), as far as resource templates use them. Pure.

interface Expression {
  operator: string // "", or one of + # . / ; ? &
  names: string[]
}

const BLANK = /\{([+#./;?&]?)([^{}]*)\}/g

function expressionOf(operator: string, list: string): Expression {
  return { operator, names: list.split(',').map((name) => name.trim().replace(/(\*|:\d+)$/, '')).filter(Boolean) }
}

export function blanksOf(template: string): string[] {
  const found = [...template.matchAll(BLANK)].flatMap(([, operator = '', list = '']) => expressionOf(operator, list).names)
  return [...new Set(found)]
}

const reserved = (text: string) => encodeURI(text).replaceAll('%25', '%')

/** What is left blank is left out. */
export function filled(template: string, values: Record<string, string>): string {
  return template.replace(BLANK, (_whole, operator: string, list: string) => {
    const { names } = expressionOf(operator, list)
    const given = names.flatMap((name) => (values[name] ? [[name, values[name]] as const] : []))
    if (!given.length) return ''
    const write = operator === '+' || operator === '#' ? reserved : encodeURIComponent
    const isNamed = ['?', '&', ';'].includes(operator)
    const parts = given.map(([name, value]) => (isNamed ? `${name}=${write(value)}` : write(value)))
    const first = operator === '+' ? '' : operator
    const between = operator === '?' || operator === '&' ? '&' : ['.', '/', ';'].includes(operator) ? operator : ','
    return first + parts.join(between)
  })
}
