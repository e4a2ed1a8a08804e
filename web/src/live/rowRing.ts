// The newest rows, each once, newest first by when they began; older ones fall out. Memory is bounded by `capacity`.
// A row that was told as started, as settled and with its tokens counted is one row: what says more wins, in any order.

export interface RingRow {
  id: string
  timestamp: string | null
  outcome: string | null
  response_tokens: number | null
}

const says = (row: RingRow) => (row.outcome === null ? 0 : row.response_tokens === null ? 1 : 2)

const began = (row: RingRow) => row.timestamp ?? ''

export class RowRing<Row extends RingRow> {
  private byId = new Map<string, Row>()
  private sorted: Row[] = []
  version = 0 // counts every change, also those that are no news

  constructor(readonly capacity: number) {}

  get rows(): readonly Row[] {
    return this.sorted
  }

  has(id: string): boolean {
    return this.byId.has(id)
  }

  /** Takes rows in any order; gives back the news: rows that are new here, or newly settled. */
  merge(rows: Iterable<Row>): Row[] {
    const news: Row[] = []
    const before = this.version
    for (const row of rows) {
      const known = this.byId.get(row.id)
      if (known && says(known) >= says(row)) continue
      this.byId.set(row.id, row)
      this.version += 1
      if (!known || known.outcome === null) news.push(row)
    }
    if (this.version !== before) this.order()
    return news
  }

  clear() {
    this.byId.clear()
    this.sorted = []
  }

  private order() {
    // Nearly sorted already, which is what the engine's merge sort is fast at: 5,000 rows cost well under a frame.
    const all = [...this.byId.values()].reverse()
    all.sort((a, b) => (began(a) < began(b) ? 1 : began(a) > began(b) ? -1 : a.id < b.id ? 1 : -1))
    for (const row of all.splice(this.capacity)) this.byId.delete(row.id)
    this.sorted = all
  }
}
