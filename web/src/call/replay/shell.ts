// A call as something to paste into a shell. Pure. Arguments are a stranger's text: every word is quoted so that no
// shell expands any of it. The token never appears: the shell reads it from $CALLGATE_TOKEN.

export const MODERN = '2026-07-28'
const PLAIN_WORD = /^[A-Za-z0-9_][A-Za-z0-9_./:=,@+-]*$/

/** One word for sh, bash and zsh. */
export function quote(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

type Json = Record<string, unknown>

// Types that the command line reads as JSON when the tool's schema declares them (callgate call --help).
const READ_AS_JSON = new Set(['json', 'integer', 'number', 'boolean', 'object', 'array', 'null'])

function pairOf(key: string, value: unknown, schema: Json | undefined): string | null {
  if (!key || key.includes('=')) return null // the first "=" ends the key: there is no way to write it
  const declared = ((schema?.properties as Json | undefined)?.[key] as Json | undefined)?.type
  const isText = typeof value === 'string' && !key.endsWith(':') && !READ_AS_JSON.has(String(declared))
  return isText ? `${key}=${value}` : `${key}:=${JSON.stringify(value)}`
}

/** null when the command line has no words for these arguments. */
export function asCommand(tool: string, args: Json, schema?: Json): string | null {
  const pairs = Object.entries(args).map(([key, value]) => pairOf(key, value, schema))
  if (pairs.some((pair) => pair === null || pair.includes('\0'))) return null
  const words = [tool, ...(pairs as string[])]
  const isOptionLike = words.some((word) => word.startsWith('-'))
  return ['callgate', 'call', ...(isOptionLike ? ['--'] : []), ...words.map(quote)].join(' ')
}

const HEADER_SAFE = /^[!-~]([\t -~]*[!-~])?$/

/** As the specification wraps what a header cannot carry (2026-07-28, "Value Encoding"). */
export function headerValue(text: string): string {
  const isWrapped = text.startsWith('=?base64?') && text.endsWith('?=')
  if (HEADER_SAFE.test(text) && !isWrapped) return text
  const bytes = new TextEncoder().encode(text)
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))}?=`
}

export interface Asking {
  url: string
  method: string
  params: Json
  needsToken: boolean
}

const NAMED_BY: Record<string, string> = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' }

/** A modern request stands alone: no handshake, no session. */
export function asCurl({ url, method, params, needsToken }: Asking): string {
  const { _meta: _old, ...rest } = params
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'curl', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const name = params[NAMED_BY[method] ?? '']
  const headers = [
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `MCP-Protocol-Version: ${MODERN}`,
    `Mcp-Method: ${method}`,
    ...(typeof name === 'string' ? [`Mcp-Name: ${headerValue(name)}`] : []),
  ]
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...rest, _meta } })
  return [
    `curl -sS ${quote(url)}`,
    ...(needsToken ? ['-H "Authorization: Bearer $CALLGATE_TOKEN"'] : []),
    ...headers.map((header) => `-H ${quote(header)}`),
    `--data-raw ${quote(body)}`,
  ].join(' \\\n  ')
}
