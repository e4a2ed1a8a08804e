// Search as one types: what was typed is looked for when the typing rests, and at once with Enter.

import { onScopeDispose, ref, watch } from 'vue'

const REST_MS = 300

/** `inAddress`: what is looked for now; `look`: looks for something else. */
export function useTypedText(inAddress: () => string | undefined, look: (text: string) => void) {
  const text = ref(inAddress() ?? '')
  let resting: ReturnType<typeof setTimeout> | undefined

  // Not what is being typed: an address that comes late must not take letters away.
  watch(inAddress, (told) => {
    if (resting === undefined && (told ?? '') !== text.value.trim()) text.value = told ?? ''
  })

  function search() {
    clearTimeout(resting)
    resting = undefined
    look(text.value.trim())
  }
  function typed() {
    clearTimeout(resting)
    resting = setTimeout(search, REST_MS)
  }
  onScopeDispose(() => clearTimeout(resting))
  return { text, typed, search }
}
