// Who this page speaks for, and what they may do. Until it is known, nothing that changes something is offered.

import { defineStore } from 'pinia'
import { computed, ref } from 'vue'
import { api, read } from '@/api/client'
import { onStale } from './live'

export const useMe = defineStore('me', () => {
  const role = ref('')

  async function load() {
    try {
      role.value = (await read(api.GET('/api/v1/me'))).role
    } catch {
      role.value = ''
    }
  }
  onStale(() => void load())
  void load()

  return { role, mayOperate: computed(() => role.value === 'operate') }
})
