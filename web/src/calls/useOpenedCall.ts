// The call whose details are shown beside a list: it is in the address (`?call=`), so that a link shows it and Back
// closes it.

import { onScopeDispose, ref, watch } from 'vue'
import { useRoute, useRouter } from 'vue-router'

const REST_MS = 200 // browsers allow an address to change only so often, and a held key leafs fast

export function useOpenedCall() {
  const route = useRoute()
  const router = useRouter()
  const inAddress = () => [route.query.call].flat()[0] || null
  const openedId = ref<string | null>(inAddress())
  let resting: ReturnType<typeof setTimeout> | undefined

  watch(inAddress, (id) => {
    clearTimeout(resting)
    openedId.value = id
  })
  onScopeDispose(() => clearTimeout(resting))

  function open(id: string) {
    openedId.value = id
    void router.push({ query: { ...route.query, call: id } })
  }

  /** Another one in its place: no step of the way back. */
  function leaf(id: string) {
    openedId.value = id
    clearTimeout(resting)
    resting = setTimeout(() => void router.replace({ query: { ...route.query, call: id } }), REST_MS)
  }

  function close() {
    clearTimeout(resting)
    openedId.value = null
    const list = router.resolve({ path: route.path, query: { ...route.query, call: undefined } }).fullPath
    const { back } = (history.state ?? {}) as { back?: string | null }
    if (back === list) router.back()
    else void router.replace(list)
  }

  return { openedId, open, leaf, close }
}
