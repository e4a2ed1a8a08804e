// What a tool says about itself, and what the specification says when it says nothing (ToolAnnotations, MCP
// 2025-03-26 and later): readOnlyHint false, destructiveHint true, idempotentHint false, openWorldHint true.
// destructiveHint and idempotentHint mean something only when readOnlyHint is false.

export type HintKey = 'readOnlyHint' | 'destructiveHint' | 'idempotentHint' | 'openWorldHint'
export type HintState = 'declared' | 'denied' | 'default'

export interface Hint {
  key: HintKey
  state: HintState // declared: true, solid; denied: false, struck; default: absent, dashed
  holds: boolean // what is true of the tool, the default counted in
  isMoot: boolean // without meaning, since the tool is read-only
  label: string
  letter: string
  about: string
}

const SPECIFIED: Record<HintKey, { fallback: boolean; label: string; yes: string; no: string }> = {
  readOnlyHint: {
    fallback: false,
    label: 'read-only',
    yes: 'does not change anything',
    no: 'may change things',
  },
  destructiveHint: {
    fallback: true,
    label: 'destructive',
    yes: 'may overwrite or delete',
    no: 'only adds, never overwrites or deletes',
  },
  idempotentHint: {
    fallback: false,
    label: 'idempotent',
    yes: 'the same call again changes nothing more',
    no: 'the same call again may change more',
  },
  openWorldHint: {
    fallback: true,
    label: 'open world',
    yes: 'reaches systems beyond the server',
    no: 'stays within a closed set of things',
  },
}

export const HINT_KEYS = Object.keys(SPECIFIED) as HintKey[]

export type Annotations = Record<string, unknown> | null | undefined

function about(key: HintKey, state: HintState, holds: boolean, isMoot: boolean): string {
  const meaning = holds ? SPECIFIED[key].yes : SPECIFIED[key].no
  const how = state === 'default' ? `not declared; the specification's default is ${holds}` : `declared ${holds}`
  const moot = isMoot ? '. Without meaning here: the tool is read-only' : ''
  return `${key}: ${meaning} (${how})${moot}`
}

export function readAnnotations(annotations: Annotations): Hint[] {
  const isReadOnly = annotations?.readOnlyHint === true
  return HINT_KEYS.map((key) => {
    const told = annotations?.[key]
    const state: HintState = told === true ? 'declared' : told === false ? 'denied' : 'default'
    const holds = state === 'default' ? SPECIFIED[key].fallback : told === true
    const isMoot = isReadOnly && (key === 'destructiveHint' || key === 'idempotentHint')
    const { label } = SPECIFIED[key]
    return { key, state, holds, isMoot, label, letter: label.charAt(0).toUpperCase(), about: about(key, state, holds, isMoot) }
  })
}

/** Whether a call deserves a question first: not read-only, and destructive by word or by default. */
export function isDestructive(annotations: Annotations): boolean {
  const [readOnly, destructive] = readAnnotations(annotations)
  return !readOnly?.holds && destructive?.holds === true
}
