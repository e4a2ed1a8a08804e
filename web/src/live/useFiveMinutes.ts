// The last five minutes in figures and in steps of five seconds. The record has the past, and all of it counts for p95;
// what happens now comes from the live rows, and the record is asked again while calls come in.

import { computed, onMounted, ref, shallowRef, watch } from 'vue'
import { api, read } from '@/api/client'
import { useNow } from '@/time/useNow'
import { onLive, onStale, useLive } from '@/stores/live'
import { RateWindow } from './rateWindow'

const WINDOW_S = 300
const STEP_S = 5
const RECENT_STEPS = 2 // "now" is the last ten seconds: one call more or less should not make the figure jump
const AGAIN_MS = 10_000 // a percentile of five minutes changes slowly, and costs the gateway more than a row
const FIRST_MS = 1_000 // the first calls of a quiet page
const FAILED_MS = 30_000

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)

export function useFiveMinutes() {
  const live = useLive()
  const now = useNow()
  const rates = new RateWindow(WINDOW_S, STEP_S)
  const asked = ref(0) // how often: RateWindow is plain, and is looked at each second and when its past has come
  const recorded = shallowRef<number | null>(null) // p95 of all calls of the window
  let dueMs = 0
  let isAsking = false

  onLive(['tool_calls.settled'], (_, call) => {
    rates.add(call)
  })

  async function ask() {
    if (isAsking) return
    isAsking = true
    const nowMs = Date.now()
    const untilS = rates.stepOf(nowMs)
    const since = new Date(rates.firstStep(nowMs) * 1000).toISOString()
    const query = { since, bucket_s: STEP_S, method: ['tools/call'] }
    try {
      const answer = await read(api.GET('/api/v1/stats', { params: { query } }))
      rates.seed(answer.buckets, untilS)
      recorded.value = answer.totals.p95_ms
      dueMs = Date.now() + (recorded.value === null ? FIRST_MS : AGAIN_MS)
    } catch {
      recorded.value = null // the figure is of what was seen here
      dueMs = Date.now() + FAILED_MS
    } finally {
      isAsking = false
      asked.value += 1
    }
  }
  onMounted(() => {
    // Rows of this very step are not in the past that is asked for.
    const stepS = rates.stepOf(Date.now())
    for (const row of live.rows) if (Date.parse(row.timestamp ?? '') / 1000 >= stepS) rates.add(row)
    void ask()
  })
  onStale(() => void ask())

  const series = computed(() => {
    void asked.value
    return rates.series(now.value)
  })
  const figures = computed(() => {
    const { rate, errors, refused } = series.value
    const count = (values: number[]) => Math.round(sum(values) * STEP_S)
    const calls = count(rate)
    return {
      calls,
      perSecond: sum(rate.slice(-RECENT_STEPS - 1, -1)) / RECENT_STEPS,
      errors: count(errors),
      refused: count(refused),
      p95: calls ? (recorded.value ?? rates.p95(now.value)) : null,
    }
  })
  watch(now, (nowMs) => {
    if (figures.value.calls && nowMs >= dueMs) void ask()
  })

  return { series, figures }
}
