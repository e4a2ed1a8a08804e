// The row the keyboard is on, in any list: j/k move, Enter opens. Kept by key, so that rows coming in above do not
// move it to another row.

import { computed, ref, type Ref } from 'vue'
import { useShortcuts } from './shortcuts'

export interface RowCursorOptions<Row> {
  rows: Readonly<Ref<readonly Row[]>>
  key: (row: Row) => string
  open: (row: Row) => void
  reveal?: (index: number) => void
}

export function useRowCursor<Row>({ rows, key, open, reveal }: RowCursorOptions<Row>) {
  const activeKey = ref<string | null>(null)
  const index = computed(() =>
    activeKey.value === null ? -1 : rows.value.findIndex((row) => key(row) === activeKey.value),
  )

  function move(by: number) {
    if (!rows.value.length) return
    const next = Math.min(Math.max(index.value + by, 0), rows.value.length - 1)
    const row = rows.value[next]
    if (!row) return
    activeKey.value = key(row)
    reveal?.(next)
  }

  useShortcuts([
    { keys: 'j', label: 'Next row', group: 'List', run: () => move(1) },
    { keys: 'k', label: 'Previous row', group: 'List', run: () => move(-1) },
    { keys: 'ArrowDown', label: 'Next row', group: 'List', run: () => move(1) },
    { keys: 'ArrowUp', label: 'Previous row', group: 'List', run: () => move(-1) },
    {
      keys: 'Enter',
      label: 'Open the row',
      group: 'List',
      run: () => {
        const row = rows.value[index.value]
        if (row) open(row)
      },
    },
  ])

  return { activeKey, index, move }
}
