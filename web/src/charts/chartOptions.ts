// What uPlot needs to draw our charts: colours from the theme's CSS variables, quiet axes. Pure but for reading those.

import type uPlot from 'uplot'

export interface Series {
  label: string
  values: (number | null)[]
  color: string // a CSS variable, '--cg-failed'
  kind?: 'line' | 'area' | 'bars'
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

const two = (value: number) => String(value).padStart(2, '0')

function timeTick(seconds: number, stepS: number): string {
  const at = new Date(seconds * 1000)
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}`
  if (stepS < 60) return `${clock}:${two(at.getSeconds())}`
  const isMidnight = at.getHours() === 0 && at.getMinutes() === 0
  return stepS >= 86_400 || isMidnight ? `${two(at.getDate())}.${two(at.getMonth() + 1)}.` : clock
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
          fill: one.kind === 'line' || !one.kind ? undefined : faded(color, one.kind === 'bars' ? 0.75 : 0.16),
          paths: one.kind === 'bars' ? options.bars : undefined,
          // One or two values make no line.
          points: { show: one.kind !== 'bars' && one.values.filter((value) => value !== null).length < 3, size: 5 },
          spanGaps: true,
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
