// Makes a recorded call again. As it was: then the page goes to the new one. With other arguments: then the answer is
// kept here, to be compared with the recorded one. A call that may destroy something waits for a word first.

import { computed, ref, shallowRef, type Ref } from 'vue'
import { useRouter } from 'vue-router'
import { api, read, type CallAnswer, type WholeCall } from '@/api/client'
import { asProblem, type ApiProblem } from '@/api/problem'

type Arguments = Record<string, unknown> | undefined

const WHY_NOT: Record<string, string> = {
  not_a_call: 'only tool calls can.',
  no_tool: 'the call named no tool that is offered.',
  not_offered: 'its server does not offer this tool to this page.',
  redacted: 'its arguments held a secret, which the record does not keep: edit them first.',
  cut: 'its arguments were too long to be kept whole: edit them first.',
}

export function useReplay(call: Readonly<Ref<WholeCall | null>>) {
  const router = useRouter()
  const isAsking = ref(false)
  const isSending = ref(false)
  const problem = shallowRef<ApiProblem | null>(null)
  const answer = shallowRef<CallAnswer | null>(null)
  let wanted: Arguments

  const replay = computed(() => call.value?.replay ?? null)
  const canEdit = computed(() => replay.value?.tool != null)
  const isEditOnly = computed(() => canEdit.value && !replay.value?.possible)
  const whyNot = computed(() =>
    replay.value?.reason === 'missing_capability'
      ? `its server offers this tool to clients that declare ${replay.value.missing_capabilities.join(' and ')}; this page does not.`
      : (WHY_NOT[replay.value?.reason ?? ''] ?? ''),
  )

  async function send() {
    const from = call.value
    if (!from || isSending.value) return
    isAsking.value = false
    isSending.value = true
    problem.value = null
    try {
      const params = { path: { call_id: from.id } }
      const body = wanted ? { arguments: wanted } : {}
      const made = await read(api.POST('/api/v1/tool-calls/{call_id}/replay', { params, body }))
      if (call.value?.id !== from.id) return // the page went on meanwhile
      if (wanted) answer.value = made
      else await router.push({ path: `/calls/${made.id}`, state: { replayOf: from.id } })
    } catch (cause) {
      problem.value = asProblem(cause)
    } finally {
      isSending.value = false
    }
  }

  /** Without arguments: exactly as it was. */
  function again(args?: Arguments) {
    wanted = args
    if (replay.value?.needs_confirmation) isAsking.value = true
    else void send()
  }

  return { replay, canEdit, isEditOnly, whyNot, isAsking, isSending, problem, answer, again, send, wanted: () => wanted }
}
