// Which rows of a long list are in sight. All rows have one height, so this is arithmetic: nothing is kept per row, and
// a hundred thousand cost what fifty do.

import { computed, onBeforeUnmount, ref, watch, type Ref } from 'vue'

const OVERSCAN = 10 // rows drawn beyond the edge, so that a fast wheel meets no blank
const GRAIN = 4 // the window moves by whole grains: fewer renders per pixel scrolled

export function useFixedWindow(scroller: Readonly<Ref<HTMLElement | null>>, count: () => number, rowPx: number) {
  const top = ref(0)
  const height = ref(0)

  const start = computed(() => {
    const first = Math.floor(top.value / rowPx) - OVERSCAN
    return Math.max(0, Math.min(Math.floor(first / GRAIN) * GRAIN, count()))
  })
  const end = computed(() => {
    const last = Math.ceil((top.value + height.value) / rowPx) + OVERSCAN
    return Math.min(Math.ceil(last / GRAIN) * GRAIN, count())
  })

  // Only what an event says is read: asking for more would make the browser lay out in the midst of a scroll.
  const sizes = new ResizeObserver(([entry]) => (height.value = entry?.contentRect.height ?? 0))
  const scrolled = (event: Event) => (top.value = (event.target as HTMLElement).scrollTop)
  watch(
    scroller,
    (element, _, onCleanup) => {
      if (!element) return
      height.value = element.clientHeight
      sizes.observe(element)
      element.addEventListener('scroll', scrolled, { passive: true })
      onCleanup(() => {
        sizes.unobserve(element)
        element.removeEventListener('scroll', scrolled)
      })
    },
    { flush: 'post', immediate: true },
  )
  onBeforeUnmount(() => sizes.disconnect())

  /** Scrolls as little as it takes to have the row in sight. */
  function reveal(index: number) {
    const element = scroller.value
    if (!element) return
    const at = index * rowPx
    if (at < element.scrollTop) element.scrollTop = at
    else if (at + rowPx > element.scrollTop + element.clientHeight) element.scrollTop = at + rowPx - element.clientHeight
  }

  return {
    start,
    end,
    before: computed(() => start.value * rowPx),
    after: computed(() => Math.max(0, (count() - end.value) * rowPx)),
    isAtTop: computed(() => top.value < rowPx),
    reveal,
  }
}
