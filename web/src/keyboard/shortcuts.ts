// Keys that do things. One listener for the page; components register while they live. Single letters can be switched
// off (WCAG 2.1.4), and do nothing while somebody types or a dialog is open.

import { onScopeDispose, shallowReactive } from 'vue'
import { useSettings } from '@/stores/settings'

export interface Shortcut {
  keys: string // 'j', 'Enter', 'g l': a space separates what is typed one after the other
  label: string
  group: string
  run: (event: KeyboardEvent) => void
}

const registered = shallowReactive(new Set<Shortcut>())
const SEQUENCE_MS = 1_200 // as long as "g" waits for its second letter
let first = ''
let firstAt = 0

function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0]
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName)
}

// Enter and space belong to the button or link that has the focus.
function isForControl(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0]
  return event.key === 'Enter' && target instanceof Element && target.closest('a, button, summary, [role=tab]') !== null
}

export function handleKey(event: KeyboardEvent) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return
  if (isForControl(event) || document.querySelector('dialog[open]')) return
  const isLetter = event.key.length === 1
  if (isLetter && !useSettings().shortcuts && event.key !== '?') return
  const typed = firstAt && performance.now() - firstAt < SEQUENCE_MS ? `${first} ${event.key}` : event.key
  firstAt = 0
  // The one registered last wins: a drawer's Escape before its page's.
  const found = [...registered].reverse().find((one) => one.keys === typed)
  if (found) {
    event.preventDefault()
    found.run(event)
  } else if ([...registered].some((one) => one.keys.startsWith(`${event.key} `))) {
    first = event.key
    firstAt = performance.now()
  }
}

export function useShortcuts(shortcuts: Shortcut[]) {
  for (const one of shortcuts) registered.add(one)
  onScopeDispose(() => shortcuts.forEach((one) => registered.delete(one)))
}

export const shortcutsShown = () => [...registered]
