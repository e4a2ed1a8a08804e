// The bearer token, when the gateway wants one: asked once, kept for this tab's session only.

import { defineStore } from 'pinia'
import { ref } from 'vue'

const KEY = 'callgate.token'

export const useToken = defineStore('token', () => {
  const value = ref(sessionStorage.getItem(KEY) ?? '')
  const isAsking = ref(false)
  const wasRefused = ref(false)
  let waiting: ((granted: boolean) => void)[] = []

  /** Resolves true when there is another token than `refused` to try, false when the person gave up. */
  function ask(refused: string): Promise<boolean> {
    if (value.value && value.value !== refused) return Promise.resolve(true)
    wasRefused.value = refused !== ''
    isAsking.value = true
    return new Promise((resolve) => waiting.push(resolve))
  }

  function settle(granted: boolean) {
    isAsking.value = false
    const all = waiting
    waiting = []
    for (const resolve of all) resolve(granted)
  }

  function give(token: string) {
    value.value = token.trim()
    sessionStorage.setItem(KEY, value.value)
    settle(true)
  }

  function forget() {
    value.value = ''
    sessionStorage.removeItem(KEY)
  }

  return { value, isAsking, wasRefused, ask, give, forget, giveUp: () => settle(false) }
})
