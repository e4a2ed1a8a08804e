// What the palette knows at once (pages, saved filters, servers, tools), and what it asks the record for while somebody
// types: sessions by their words, calls by the beginning of their id. A question that is no longer asked is given up.

import { computed, onScopeDispose, ref, shallowRef, watch } from 'vue'
import { api, read, type Call, type Session } from '@/api/client'
import { toolWithoutServer } from '@/calls/summary'
import { useSavedFilters } from '@/filters/savedFilters'
import { shortId } from '@/format/number'
import { formatClock } from '@/format/time'
import { useServers } from '@/stores/servers'
import { fitting, idStart, type Entry } from './paletteEntries'
import { PLACES } from './places'

const REST_MS = 150
const MOST = 6

const sessionEntry = (session: Session): Entry => ({
  key: `session ${session.session_id}`,
  group: 'Sessions',
  label: `${session.client_name ?? 'unknown client'} ${shortId(session.session_id)}`,
  about: `${formatClock(session.created_at)}, ${session.tool_call_count} calls`,
  to: `/sessions/${session.session_id}`,
})
const callEntry = (call: Call): Entry => ({
  key: `call ${call.id}`,
  group: 'Calls',
  label: `${toolWithoutServer(call)} ${call.id}`,
  about: `${formatClock(call.timestamp)}, ${call.outcome ?? 'running'}`,
  to: `/calls/${call.id}`,
})

export function usePalette() {
  const servers = useServers()
  const { saved } = useSavedFilters()
  const typed = ref('')
  const found = shallowRef<Entry[]>([])
  let resting: ReturnType<typeof setTimeout> | undefined
  let asked: AbortController | null = null

  const known = computed<Entry[]>(() => [
    ...PLACES.map(({ to, label, letter }): Entry => ({ key: `page ${to}`, group: 'Pages', label, about: `g ${letter}`, to })),
    ...saved.value.map(({ name, address }): Entry => ({
      key: `saved ${name}`,
      group: 'Saved filters',
      label: name,
      about: address,
      to: address,
    })),
    ...servers.servers.map(({ name, state }): Entry => ({
      key: `server ${name}`,
      group: 'Servers',
      label: name,
      about: state,
      to: `/servers/${encodeURIComponent(name)}`,
    })),
    ...[...servers.tools.values()].map(({ name, description }): Entry => ({
      key: `tool ${name}`,
      group: 'Tools',
      label: name,
      about: description ?? '',
      to: `/tool-calls?tool=${encodeURIComponent(name)}`,
    })),
  ])

  async function ask(text: string) {
    asked?.abort()
    const { signal } = (asked = new AbortController())
    const id = idStart(text)
    const [sessions, calls] = await Promise.all([
      read(api.GET('/api/v1/sessions', { params: { query: { q: text, limit: MOST } }, signal })).catch(() => null),
      id ? read(api.GET('/api/v1/tool-calls', { params: { query: { id, limit: MOST } }, signal })).catch(() => null) : null,
    ])
    if (signal.aborted) return
    found.value = [...(sessions?.sessions ?? []).map(sessionEntry), ...(calls?.tool_calls ?? []).map(callEntry)]
  }
  watch(typed, (value) => {
    clearTimeout(resting)
    const text = value.trim()
    if (text) resting = setTimeout(() => void ask(text), REST_MS)
    else {
      asked?.abort()
      found.value = []
    }
  })
  onScopeDispose(() => {
    clearTimeout(resting)
    asked?.abort()
  })

  const entries = computed<Entry[]>(() => {
    const text = typed.value.trim()
    const shown = text ? known.value : known.value.filter(({ group }) => group !== 'Tools')
    const search: Entry[] = text
      ? [{ key: 'search', group: 'Search', label: `Search all calls for “${text}”`, about: '', to: `/tool-calls?q=${encodeURIComponent(text)}` }]
      : []
    return [...fitting(shown, text), ...found.value, ...search]
  })
  return { typed, entries }
}
