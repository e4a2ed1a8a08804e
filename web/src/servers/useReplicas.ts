// The gateways behind one balancer. One that is alone says so once, and is asked again only after a cut.

import { ref, shallowRef, watch } from 'vue'
import { api, read, type ReplicaList } from '@/api/client'
import { onLive, onStale } from '@/stores/live'
import { useNow } from '@/time/useNow'

const AGAIN_MS = 5_000 // as often as replicas say that they are there

export function useReplicas() {
  const list = shallowRef<ReplicaList | null>(null)
  const isStale = ref(false)
  const now = useNow()
  let dueMs = 0
  let isAsking = false

  async function ask() {
    if (isAsking) return
    isAsking = true
    try {
      list.value = await read(api.GET('/api/v1/replicas'))
      isStale.value = false
    } catch {
      isStale.value = true // the page's own error state says what is wrong
    } finally {
      isAsking = false
      dueMs = Date.now() + AGAIN_MS
    }
  }
  void ask()
  onLive(['servers.changed'], () => {
    if (list.value?.total) void ask()
  })
  onStale(() => void ask())
  watch(now, (nowMs) => {
    if (list.value?.total && nowMs >= dueMs) void ask()
  })

  return { list, isStale }
}
