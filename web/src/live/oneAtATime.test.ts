import { expect, it } from 'vitest'
import { oneAtATime } from './oneAtATime'

/** Answers of a server whose state changes while it is asked: each has what was true when it was asked. */
function server() {
  const answers: (() => void)[] = []
  const seen: number[] = []
  const state = { value: 0 }
  const refresh = oneAtATime(async () => {
    const value = state.value
    await new Promise<void>((resolve) => answers.push(resolve))
    seen.push(value)
  })
  return { answers, seen, state, refresh }
}

it('asks once more for what changed while it was asked', async () => {
  const { answers, seen, state, refresh } = server()
  const first = refresh()
  state.value = 1
  void refresh()
  state.value = 2
  void refresh()
  answers[0]?.()
  await expect.poll(() => answers.length).toBe(2)
  answers[1]?.()
  await first
  expect(seen).toEqual([0, 2])
})

it('asks anew after it was answered', async () => {
  const { answers, seen, state, refresh } = server()
  const first = refresh()
  answers[0]?.()
  await first
  state.value = 1
  const second = refresh()
  answers[1]?.()
  await second
  expect(seen).toEqual([0, 1])
})

it('asks again after it failed', async () => {
  let asked = 0
  const refresh = oneAtATime(async () => {
    asked += 1
    await Promise.resolve()
    if (asked === 1) throw new Error('no answer')
  })
  await expect(refresh()).rejects.toThrow('no answer')
  await refresh()
  expect(asked).toBe(2)
})
