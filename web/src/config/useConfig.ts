// The gateway's configuration, and changes to its file. A change is meant for the state of the file that was read.

import { ref, shallowRef } from 'vue'
import { api, read } from '@/api/client'
import { asProblem, type ApiProblem } from '@/api/problem'
import type { components } from '@/api/schema'

export type Config = components['schemas']['ConfigShape']
export type ConfigValue = components['schemas']['ConfigValueShape']
export type ConfigEntry = components['schemas']['ConfigEntryShape']
export type Changed = components['schemas']['ChangedShape']
export type Change = Partial<components['schemas']['ConfigBody']>

export function useConfig() {
  const config = shallowRef<Config | null>(null)
  const problem = shallowRef<ApiProblem | null>(null)
  const isStale = ref(false) // somebody else changed the file meanwhile

  async function load() {
    try {
      config.value = await read(api.GET('/api/v1/config'))
      problem.value = null
    } catch (cause) {
      problem.value = asProblem(cause)
    }
  }

  /** Throws an ApiProblem. Of a file that has changed the new state is read, so that the next attempt fits. */
  async function change(body: Change, dryRun: boolean): Promise<Changed> {
    if (!config.value) await load()
    isStale.value = false
    try {
      const done = await read(
        api.PATCH('/api/v1/config', {
          params: { query: { dry_run: dryRun }, header: { 'If-Match': `"${config.value?.digest ?? ''}"` } },
          body: body as components['schemas']['ConfigBody'],
        }),
      )
      if (!dryRun) await load()
      return done
    } catch (cause) {
      const told = asProblem(cause)
      if (told.code === 'caller.stale') {
        await load()
        isStale.value = true
      }
      throw told
    }
  }

  return { config, problem, isStale, load, change }
}
