// Widths that somebody gave to columns, by dragging their edge or by Alt and an arrow key. What nobody touched is as
// wide as the browser finds right.

import { shallowRef } from 'vue'

const LEAST_PX = 48
const MOST_PX = 1_600
const STEP_PX = 24

export function useColumnWidths() {
  const widths = shallowRef<Record<string, number>>({})

  function set(key: string, px: number) {
    widths.value = { ...widths.value, [key]: Math.round(Math.min(MOST_PX, Math.max(LEAST_PX, px))) }
  }

  function reset(key: string) {
    const { [key]: _gone, ...others } = widths.value
    widths.value = others
  }

  const headOf = (event: Event) => (event.target as HTMLElement).closest('th')

  function drag(event: PointerEvent, key: string) {
    const head = headOf(event)
    const handle = event.currentTarget as HTMLElement
    if (!head) return
    event.preventDefault()
    const from = { x: event.clientX, width: head.getBoundingClientRect().width }
    handle.setPointerCapture(event.pointerId)
    const moved = (move: PointerEvent) => set(key, from.width + move.clientX - from.x)
    handle.addEventListener('pointermove', moved)
    handle.addEventListener('lostpointercapture', () => handle.removeEventListener('pointermove', moved), { once: true })
  }

  /** Alt with Left or Right, on the head of a column. */
  function step(event: KeyboardEvent, key: string, sign: 1 | -1) {
    const width = headOf(event)?.getBoundingClientRect().width ?? LEAST_PX
    set(key, width + sign * STEP_PX)
  }

  function styleOf(key: string) {
    const width = widths.value[key]
    return width === undefined ? undefined : { width: `${width}px`, minWidth: `${width}px`, maxWidth: `${width}px` }
  }

  return { drag, step, reset, styleOf }
}
