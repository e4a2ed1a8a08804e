// What uPlot needs to draw our charts: colours from the theme's CSS variables, quiet axes. Pure but for reading those.

import type uPlot from 'uplot'
import { inZone } from '@/time/zone'

export interface Series {
  label: string
  values: (number | null)[]
  color: string // a CSS variable, '--cg-failed'
  kind?: 'line' | 'area' | 'bars' | 'points'
  format?: (value: number | null) => string
}

export interface ChartOptions {
  width: number
  height: number
  isSpark: boolean
  canBrush: boolean
  series: Series[]
  bars: uPlot.Series.PathBuilder | undefined
  brushed: (fromS: number, toS: number) => void
  hovered: (index: number | null) => void
}

const ink = (host: HTMLElement, variable: string) => getComputedStyle(host).getPropertyValue(variable).trim() || '#888'

// Canvas knows no color-mix(); a colour takes its alpha behind a slash, or as two more digits.
function faded(color: string, alpha: number): string {
  if (color.startsWith('#')) return color + Math.round(alpha * 255).toString(16).padStart(2, '0')
  return color.replace(')', ` / ${alpha})`)
}

/** Where a value has none beside it. */
export function lonelyOf(values: readonly (number | null | undefined)[]): number[] {
  return values.flatMap((value, n) => (value != null && values[n - 1] == null && values[n + 1] == null ? [n] : []))
}

function pointsOf({ kind }: Series, color: string): uPlot.Series.Points {
  if (kind === 'bars') return { show: false }
  const points = { show: true, size: 5, fill: color }
  return kind === 'points' ? points : { ...points, filter: (plot, at) => lonelyOf(Array.from(plot.data[at] ?? [])) }
}

const two = (value: number) => String(value).padStart(2, '0')

function timeTick(seconds: number, stepS: number): string {
  const at = inZone(seconds * 1000)
  const clock = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`
  if (stepS < 60) return `${clock}:${two(at.getUTCSeconds())}`
  const isMidnight = at.getUTCHours() === 0 && at.getUTCMinutes() === 0
  return stepS >= 86_400 || isMidnight ? `${two(at.getUTCDate())}.${two(at.getUTCMonth() + 1)}.` : clock
}

/** uPlot puts its ticks at whole hours and days of a date's own getters. */
function shiftedDate(atMs: number): Date {
  const told = inZone(atMs)
  return new Date(told.getTime() + told.getTimezoneOffset() * 60_000)
}

export function buildOptions(host: HTMLElement, options: ChartOptions): uPlot.Options {
  const dim = ink(host, '--cg-dim')
  const line = ink(host, '--cg-line')
  const axis: uPlot.Axis = {
    stroke: dim,
    font: '10px Geist, sans-serif',
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
  }
  const axes: uPlot.Axis[] = options.isSpark
    ? [{ show: false }, { show: false }]
    : [
        {
          ...axis,
          size: 22,
          space: 70,
          grid: { show: false },
          values: (_, ticks, __, ___, stepS) => ticks.map((tick) => timeTick(tick, stepS)),
        },
        { ...axis, size: 46, values: (_, ticks) => ticks.map((tick) => options.series[0]?.format?.(tick) ?? String(tick)) },
      ]
  return {
    width: options.width,
    height: options.height,
    axes,
    padding: options.isSpark ? [2, 0, 1, 0] : [8, 8, 0, 0],
    legend: { show: false },
    tzDate: (seconds) => shiftedDate(seconds * 1000),
    scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(high ?? 0, 0.001) * 1.08] } },
    cursor: {
      y: false,
      points: { show: !options.isSpark, size: 6 },
      drag: { x: options.canBrush, y: false, setScale: false },
    },
    series: [
      {},
      ...options.series.map((one): uPlot.Series => {
        const color = ink(host, one.color)
        return {
          label: one.label,
          stroke: color,
          width: one.kind === 'bars' ? 0 : 1.25,
          fill: one.kind === 'bars' || one.kind === 'area' ? faded(color, one.kind === 'bars' ? 0.75 : 0.16) : undefined,
          paths: one.kind === 'bars' ? options.bars : one.kind === 'points' ? () => null : undefined,
          // A value without a neighbour makes no line; where there is none, no line says that there was one.
          points: pointsOf(one, color),
          spanGaps: false,
        }
      }),
    ],
    hooks: {
      setCursor: [(plot) => options.hovered(plot.cursor.idx ?? null)],
      setSelect: [
        (plot) => {
          if (plot.select.width < 4) return
          options.brushed(plot.posToVal(plot.select.left, 'x'), plot.posToVal(plot.select.left + plot.select.width, 'x'))
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
    },
  }
}
