// The statements that ran in this browser, newest first.

import { ref } from 'vue'

const KEY = 'callgate.queries'
const MOST = 20

function stored(): string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(found) ? found.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}

export function usePastQueries() {
  const past = ref(stored())
  function keep(sql: string) {
    past.value = [sql, ...past.value.filter((one) => one !== sql)].slice(0, MOST)
    try {
      localStorage.setItem(KEY, JSON.stringify(past.value))
    } catch {
      // No room: they are kept until the page goes.
    }
  }
  function forget() {
    past.value = []
    localStorage.removeItem(KEY)
  }
  return { past, keep, forget }
}
