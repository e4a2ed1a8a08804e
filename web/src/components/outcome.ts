// The outcomes of a call, in the order people care, with their words and colours. null is a call still running.

import { Ban, CircleCheck, CircleSlash, CircleX, LoaderCircle, TriangleAlert, Unplug } from '@lucide/vue'
import type { Component } from 'vue'

export interface OutcomeLook {
  label: string
  about: string
  ink: string
  fill: string
  variable: string // the colour as a CSS variable, for charts
  icon: Component
}

const RUNNING: OutcomeLook = {
  label: 'running',
  about: 'no answer yet',
  ink: 'text-running',
  fill: 'bg-running/12',
  variable: '--cg-running',
  icon: LoaderCircle,
}

export const OUTCOMES: Record<string, OutcomeLook> = {
  answered: {
    label: 'answered',
    about: 'the server answered',
    ink: 'text-answered',
    fill: 'bg-answered/12',
    variable: '--cg-answered',
    icon: CircleCheck,
  },
  tool_error: {
    label: 'tool error',
    about: 'the tool ran and reported an error',
    ink: 'text-tool-error',
    fill: 'bg-tool-error/12',
    variable: '--cg-tool-error',
    icon: TriangleAlert,
  },
  refused: {
    label: 'refused',
    about: 'the gateway did not let it through',
    ink: 'text-refused',
    fill: 'bg-refused/12',
    variable: '--cg-refused',
    icon: Ban,
  },
  failed: {
    label: 'failed',
    about: 'no usable answer came from the server',
    ink: 'text-failed',
    fill: 'bg-failed/12',
    variable: '--cg-failed',
    icon: CircleX,
  },
  cancelled: {
    label: 'cancelled',
    about: 'somebody stopped it',
    ink: 'text-cancelled',
    fill: 'bg-cancelled/12',
    variable: '--cg-cancelled',
    icon: CircleSlash,
  },
  lost: {
    label: 'lost',
    about: 'the gateway stopped before it ended',
    ink: 'text-lost',
    fill: 'bg-lost/12',
    variable: '--cg-lost',
    icon: Unplug,
  },
}

export function outcomeLook(outcome: string | null): OutcomeLook {
  if (outcome === null) return RUNNING
  return OUTCOMES[outcome] ?? { ...RUNNING, label: outcome, about: outcome, ink: 'text-dim', icon: CircleSlash }
}
