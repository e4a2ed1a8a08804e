// What went wrong, in the words of the gateway (application/problem+json) or, when it gave none, in ours.
// Every error a page shows is one of these.

export interface ConfigProblem {
  key_path: string
  message: string
  hint: string
}

export class ApiProblem extends Error {
  constructor(
    readonly status: number, // 0: no answer at all
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly hint: string,
    readonly problems: ConfigProblem[] = [], // of a configuration
    readonly toml: string[] = [], // lines to paste where the file comes from
  ) {
    super(detail || title)
    this.name = 'ApiProblem'
  }
}

interface ProblemBody {
  title?: unknown
  detail?: unknown
  code?: unknown
  hint?: unknown
  problems?: ConfigProblem[]
  toml?: string[]
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

export function problemOf(status: number, body: unknown): ApiProblem {
  const told = (typeof body === 'object' && body !== null ? body : {}) as ProblemBody
  return new ApiProblem(
    status,
    text(told.code) || `http.${status}`,
    text(told.title) || `The gateway answered ${status}`,
    text(told.detail),
    text(told.hint),
    told.problems ?? [],
    told.toml ?? [],
  )
}

export function isAbort(cause: unknown): boolean {
  return cause instanceof DOMException && cause.name === 'AbortError'
}

/** Whatever was thrown, as something a page can show. */
export function asProblem(cause: unknown): ApiProblem {
  if (cause instanceof ApiProblem) return cause
  if (cause instanceof TypeError) {
    return new ApiProblem(
      0,
      'web.unreachable',
      'The gateway does not answer',
      'The request never reached it.',
      'See whether callgate is still running, then try again.',
    )
  }
  const detail = cause instanceof Error ? cause.message : String(cause)
  return new ApiProblem(0, 'web.unexpected', 'The page stumbled', detail, 'Reload the page; if it comes again, report it.')
}
