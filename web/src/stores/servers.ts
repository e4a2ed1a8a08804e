// The gateway and what is behind it: its servers and their tools, its version, its record. Asked again when it says so.

import { defineStore } from 'pinia'
import { computed, ref, shallowRef } from 'vue'
import { api, read, type About, type Server, type Tool } from '@/api/client'
import { asProblem, type ApiProblem } from '@/api/problem'
import { oneAtATime } from '@/live/oneAtATime'
import { onLive, onStale } from './live'

export const useServers = defineStore('servers', () => {
  const servers = shallowRef<Server[]>([])
  const problem = shallowRef<ApiProblem | null>(null)
  const isLoaded = ref(false)
  const about = shallowRef<About | null>(null)
  const hasToolSearch = ref(false) // clients are listed two tools in place of all

  async function load() {
    const told = read(api.GET('/api/v1/about')).then(
      (answer) => void (about.value = answer),
      () => undefined, // the servers' own answer says what is wrong
    )
    try {
      const answer = await read(api.GET('/api/v1/servers'))
      servers.value = answer.servers
      hasToolSearch.value = answer.tool_search
      problem.value = null
      isLoaded.value = true
    } catch (cause) {
      problem.value = asProblem(cause)
    }
    await told
  }

  const refresh = oneAtATime(load)

  onLive(['servers.changed', 'catalog.changed', 'trust.changed'], () => void refresh())
  onStale(() => void refresh())

  const byName = computed(() => new Map(servers.value.map((server) => [server.name, server])))
  const tools = computed(() => new Map<string, Tool>(servers.value.flatMap((s) => s.tools.map((t) => [t.name, t]))))
  const held = computed(() => servers.value.filter((server) => (server.held ?? 0) > 0))
  const down = computed(() => servers.value.filter((server) => server.state === 'down'))

  return { servers, hasToolSearch, byName, tools, down, held, about, problem, isLoaded, refresh }
})
