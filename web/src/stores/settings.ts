// What one person prefers, kept in this browser.

import { defineStore } from 'pinia'
import { computed, ref, watchEffect } from 'vue'

export type Theme = 'system' | 'light' | 'dark'
const THEMES: Theme[] = ['system', 'light', 'dark']

function stored<T extends string>(key: string, allowed: readonly T[], fallback: T): T {
  const found = localStorage.getItem(`callgate.${key}`) as T | null
  return found !== null && allowed.includes(found) ? found : fallback
}

export const useSettings = defineStore('settings', () => {
  const theme = ref<Theme>(stored('theme', THEMES, 'system'))
  const shortcuts = ref(stored('shortcuts', ['on', 'off'], 'on') === 'on')

  const dark = matchMedia('(prefers-color-scheme: dark)')
  const systemIsDark = ref(dark.matches)
  dark.addEventListener('change', (event) => (systemIsDark.value = event.matches))

  const isDark = computed(() => theme.value === 'dark' || (theme.value === 'system' && systemIsDark.value))

  watchEffect(() => {
    document.documentElement.dataset.theme = isDark.value ? 'callgate-dark' : 'callgate-light'
    localStorage.setItem('callgate.theme', theme.value)
    localStorage.setItem('callgate.shortcuts', shortcuts.value ? 'on' : 'off')
  })

  function nextTheme() {
    theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system'
  }

  return { theme, isDark, shortcuts, nextTheme }
})
