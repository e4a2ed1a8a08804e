// A press on a time line: dragged it is a stretch, let go in place it is a click.

import { ref, type Ref } from 'vue'
import { msOf, type Stretch } from './lanes'

const DRAG_PX = 4

export interface DragOptions {
  stretch: () => Stretch
  dragged: (stretch: Stretch) => void
  clicked: (event: PointerEvent) => void
}

export function useDrag(options: DragOptions): { brush: Ref<Stretch | null>; press: (event: PointerEvent) => void } {
  const brush = ref<Stretch | null>(null)

  function press(event: PointerEvent) {
    if (event.button !== 0) return
    const target = event.currentTarget as HTMLElement
    const box = target.getBoundingClientRect()
    const at = (x: number) => msOf(Math.min(Math.max(x - box.left, 0), box.width), options.stretch(), box.width)
    const began = event.clientX
    const move = (moved: PointerEvent) => {
      if (brush.value === null && Math.abs(moved.clientX - began) < DRAG_PX) return
      const [a, b] = [at(began), at(moved.clientX)]
      brush.value = { from: Math.min(a, b), to: Math.max(a, b) }
    }
    const end = (ended: PointerEvent) => {
      target.removeEventListener('pointermove', move)
      target.removeEventListener('pointerup', end)
      target.removeEventListener('pointercancel', end)
      const drawn = brush.value
      brush.value = null
      if (ended.type === 'pointercancel') return // the finger scrolls the page
      if (drawn && drawn.to > drawn.from) options.dragged(drawn)
      else options.clicked(ended)
    }
    target.setPointerCapture(event.pointerId)
    target.addEventListener('pointermove', move)
    target.addEventListener('pointerup', end)
    target.addEventListener('pointercancel', end)
  }
  return { brush, press }
}
