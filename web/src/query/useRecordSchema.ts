// The record's tables and their columns, for the editor to complete: asked of the record itself.

import { onMounted, ref } from 'vue'
import { api, read } from '@/api/client'

const TABLES = ['rpc_events', 'sessions', 'rpc_event_upstreams', 'gaps']

export function useRecordSchema() {
  const schema = ref<Record<string, string[]>>({})
  onMounted(async () => {
    const found = await Promise.allSettled(
      TABLES.map(async (table) => {
        const answer = await read(api.POST('/api/v1/query', { body: { sql: `SELECT * FROM ${table} LIMIT 0`, max_rows: 1, timeout_s: 5 } }))
        return [table, answer.columns] as const
      }),
    )
    // Without it the editor still edits; the page's own query says what is wrong with the record.
    schema.value = Object.fromEntries(found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])))
  })
  return schema
}
