// Arguments to fill in: what a tool requires, each as an empty value of its type. Pure.

type Json = Record<string, unknown>

const EMPTY: Record<string, unknown> = { string: '', integer: 0, number: 0, boolean: false, array: [], object: {} }

export function blankFor(schema: Json | undefined): Json {
  const properties = (schema?.properties ?? {}) as Record<string, Json>
  const required = (schema?.required ?? []) as string[]
  return Object.fromEntries(
    required.map((key) => {
      const { default: given, enum: choices, type } = properties[key] ?? {}
      return [key, given ?? (choices as unknown[] | undefined)?.[0] ?? EMPTY[String([type].flat()[0])] ?? null]
    }),
  )
}
