// One clock for every "3 s ago" on the page.

import { ref } from 'vue'

const now = ref(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 1_000)

export const useNow = () => now
