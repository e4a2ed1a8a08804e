// Puts lanes on a canvas: a thousand elements would be slow, a thousand rectangles are not. Colours come from the
// theme's variables, so a canvas is drawn anew when the theme changes.

import { outcomeLook } from '@/components/outcome'
import { xOf, type Lane, type Mark, type Stretch } from './lanes'

export const ROW_PX = 14
export const PAD_PX = 5
const THINNEST_PX = 2.5

export const laneHeight = (lane: Lane) => lane.rows * ROW_PX + PAD_PX * 2

/** A canvas of sharp pixels; null while it has no size. */
export function sized(
  canvas: HTMLCanvasElement,
): { pen: CanvasRenderingContext2D; width: number; height: number } | null {
  const { clientWidth: width, clientHeight: height } = canvas
  const pen = canvas.getContext('2d')
  if (!width || !height || !pen) return null
  const ratio = devicePixelRatio || 1
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0)
  pen.clearRect(0, 0, width, height)
  return { pen, width, height }
}

export function inkOf(element: Element): (variable: string) => string {
  const style = getComputedStyle(element)
  const known = new Map<string, string>()
  return (variable) => {
    const found = known.get(variable) ?? style.getPropertyValue(variable).trim()
    known.set(variable, found)
    return found
  }
}

export interface Drawn {
  lane: Lane
  stretch: Stretch
  ticks: number[]
  chosen: Mark | null
  brush: Stretch | null
}

export function drawLane(canvas: HTMLCanvasElement, { lane, stretch, ticks, chosen, brush }: Drawn) {
  const sheet = sized(canvas)
  if (!sheet) return
  const { pen, width, height } = sheet
  const ink = inkOf(canvas)
  pen.fillStyle = ink('--cg-line')
  for (const tick of ticks) pen.fillRect(Math.round(xOf(tick, stretch, width)), 0, 1, height)
  for (const mark of lane.marks) {
    const left = xOf(mark.start, stretch, width)
    if (left > width) break
    const right = xOf(mark.end, stretch, width)
    if (right < -THINNEST_PX) continue
    const from = Math.max(left, -1)
    const isCall = mark.event.method === 'tools/call'
    const [top, tall] = [PAD_PX + mark.row * ROW_PX + (isCall ? 1 : 4), isCall ? ROW_PX - 3 : ROW_PX - 9]
    pen.fillStyle = ink(
      isCall || mark.event.outcome !== 'answered' ? outcomeLook(mark.event.outcome).variable : '--cg-dim',
    )
    const wide = Math.max(Math.min(right, width + 1) - from, THINNEST_PX)
    pen.fillRect(from, top, wide, tall)
    if (chosen?.event.id === mark.event.id) {
      pen.strokeStyle = ink('--color-base-content')
      pen.lineWidth = 1.5
      pen.strokeRect(from - 1.5, top - 1.5, wide + 3, tall + 3)
    }
  }
  if (brush) {
    pen.fillStyle = ink('--color-primary')
    pen.globalAlpha = 0.18
    const [from, to] = [xOf(brush.from, stretch, width), xOf(brush.to, stretch, width)]
    pen.fillRect(from, 0, to - from, height)
    pen.globalAlpha = 1
  }
}

export function drawOverview(
  canvas: HTMLCanvasElement,
  pieces: { calls: number; errors: number }[],
  window: { left: number; right: number } | null,
) {
  const sheet = sized(canvas)
  if (!sheet) return
  const { pen, width, height } = sheet
  const ink = inkOf(canvas)
  const most = Math.max(...pieces.map((piece) => piece.calls), 1)
  const wide = width / pieces.length
  pieces.forEach((piece, n) => {
    if (!piece.calls) return
    const tall = Math.max(Math.sqrt(piece.calls / most) * (height - 4), 2) // by its root: one call beside a hundred still shows
    pen.fillStyle = ink('--cg-dim')
    pen.fillRect(n * wide, height - tall, Math.max(wide - 0.5, 1), tall)
    if (!piece.errors) return
    const bad = Math.max((tall * piece.errors) / piece.calls, 2)
    pen.fillStyle = ink('--cg-failed')
    pen.fillRect(n * wide, height - bad, Math.max(wide - 0.5, 1), bad)
  })
  if (!window) return
  pen.fillStyle = ink('--color-primary')
  pen.globalAlpha = 0.16
  pen.fillRect(window.left, 0, Math.max(window.right - window.left, 2), height)
  pen.globalAlpha = 1
  for (const x of [window.left, window.right]) pen.fillRect(Math.min(Math.max(x - 1, 0), width - 2), 0, 2, height)
}
