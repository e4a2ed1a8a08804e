// The scroll position of the page's middle, which every page shares: a new address begins at its top, and who comes back
// is where they were.

import type { Router } from 'vue-router'
import { keepHere, takeKept } from './keep'

const PATIENCE_MS = 2_000 // what comes later than that comes after the person has begun to read

export function watchMainScroll(router: Router) {
  const main = () => document.getElementById('main')
  let waiting = 0

  // What is there comes in its own time: its place is taken when the page is long enough for it.
  function reach(top: number, untilMs: number) {
    const element = main()
    if (!element || performance.now() > untilMs) return
    element.scrollTop = top
    if (Math.abs(element.scrollTop - top) > 1) waiting = requestAnimationFrame(() => reach(top, untilMs))
  }
  const giveUp = () => cancelAnimationFrame(waiting)
  for (const type of ['wheel', 'touchstart', 'keydown', 'pointerdown']) addEventListener(type, giveUp, { passive: true })

  router.beforeEach(() => {
    giveUp()
    keepHere('main', main()?.scrollTop ?? 0)
  })
  router.afterEach((to, from) => {
    if (to.path === from.path) return // another filter of the same page
    const top = takeKept<number>('main') ?? 0
    waiting = requestAnimationFrame(() => reach(top, performance.now() + PATIENCE_MS))
  })
}
