// Collects what comes in and hands it over in one go, on an animation frame: at most ten times a second, and seldomer
// when drawing it is dear, so that a burst of a thousand calls a second leaves the page most of its time. Hidden tabs get
// no frames: a timer serves them.

const EVERY_MS = 100 // nobody reads faster
const REST = 3 // drawing may take a quarter of the time
const HIDDEN_MS = 250
const MOST_ITEMS = 5_000 // a hidden tab's timers may wait a minute; what comes meanwhile must not pile up

export class FrameBuffer<Item> {
  private items: Item[] = []
  private scheduled = false
  private notBefore = 0

  constructor(private readonly flushed: (items: Item[]) => void) {}

  push(item: Item) {
    this.items.push(item)
    if (this.items.length >= MOST_ITEMS) return this.flush()
    if (this.scheduled) return
    this.scheduled = true
    this.wait()
  }

  private wait() {
    const dueMs = this.notBefore - performance.now()
    if (document.hidden) setTimeout(() => this.flush(), Math.max(dueMs, HIDDEN_MS))
    else if (dueMs > 0) setTimeout(() => this.wait(), dueMs)
    else requestAnimationFrame(() => this.flush())
  }

  private flush() {
    if (!this.items.length) {
      this.scheduled = false
      return
    }
    const began = performance.now()
    this.scheduled = false
    this.notBefore = began + EVERY_MS
    const items = this.items
    this.items = []
    this.flushed(items)
    if (document.hidden) return
    // The next frame begins when this one is drawn: what lies between is what it cost.
    requestAnimationFrame(() => {
      const cost = performance.now() - began
      this.notBefore = Math.max(this.notBefore, began + cost * (1 + REST))
    })
  }
}
