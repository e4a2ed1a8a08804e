// The time line by keyboard: arrows go along a lane and from lane to lane, Enter opens, + and - zoom, 0 shows all.

import { nearestIn, stepIn, type Lane, type Mark } from './lanes'

export interface LaneKeys {
  lanes: () => readonly Lane[]
  chosen: () => { lane: Lane; mark: Mark } | null
  choose: (lane: Lane, mark: Mark | null) => void
  open: (mark: Mark) => void
  zoomBy: (factor: number) => void
  showAll: () => void
}

/** Handles the keys it knows, and lets nobody else have them. */
export function laneKeys(on: LaneKeys): (event: KeyboardEvent) => void {
  const laneAt = (by: number): Lane | undefined => {
    const now = on.chosen()
    const at = now ? on.lanes().findIndex((lane) => lane.server === now.lane.server) : 0
    return on.lanes()[at + by]
  }
  const along = (by: 1 | -1) => {
    const lane = laneAt(0)
    if (lane) on.choose(lane, stepIn(lane, on.chosen()?.mark ?? null, by))
  }
  const across = (by: 1 | -1) => {
    const lane = laneAt(by)
    if (lane) on.choose(lane, nearestIn(lane, on.chosen()?.mark.start ?? 0))
  }
  const open = () => {
    const now = on.chosen()
    if (now) on.open(now.mark)
  }
  const steps: Record<string, () => void> = {
    ArrowRight: () => along(1),
    ArrowLeft: () => along(-1),
    ArrowDown: () => across(1),
    ArrowUp: () => across(-1),
    Enter: open,
    '+': () => on.zoomBy(0.5),
    '=': () => on.zoomBy(0.5),
    '-': () => on.zoomBy(2),
    '0': on.showAll,
  }
  return (event) => {
    const step = event.ctrlKey || event.metaKey || event.altKey ? undefined : steps[event.key]
    if (!step) return
    event.preventDefault()
    event.stopPropagation()
    step()
  }
}
