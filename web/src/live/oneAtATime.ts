/** A question that is asked again and again, one at a time. Who wants it while it is under way may know of something
 *  newer than its answer: it is asked once more then, however many there were. */
export function oneAtATime(ask: () => Promise<void>): () => Promise<void> {
  let asking: Promise<void> | null = null
  let isOld = false

  async function askUntilNew() {
    try {
      do {
        isOld = false
        await ask()
      } while (isOld)
    } finally {
      asking = null
    }
  }

  return () => {
    isOld = true
    asking ??= askUntilNew()
    return asking
  }
}
