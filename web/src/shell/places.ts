// The places of the page, in the order of the navigation, with the letter that goes there after "g".

import { Activity, ChartNoAxesCombined, DatabaseZap, ListTree, PlugZap, Server, Settings2, SquareTerminal } from '@lucide/vue'
import type { Component } from 'vue'

export interface Place {
  to: string
  label: string
  letter: string
  icon: Component
  isForOperators?: boolean
}

export const PLACES: Place[] = [
  { to: '/', label: 'Live', letter: 'l', icon: Activity },
  { to: '/tool-calls', label: 'Tool calls', letter: 't', icon: SquareTerminal },
  { to: '/sessions', label: 'Sessions', letter: 's', icon: ListTree },
  { to: '/servers', label: 'Servers', letter: 'v', icon: Server },
  { to: '/analytics', label: 'Analytics', letter: 'a', icon: ChartNoAxesCombined },
  { to: '/query', label: 'Query', letter: 'q', icon: DatabaseZap },
  { to: '/connect', label: 'Connect', letter: 'c', icon: PlugZap },
  { to: '/settings', label: 'Settings', letter: 'e', icon: Settings2, isForOperators: true },
]

// A page below a place: /calls/… belongs to Tool calls.
const BELOW: Record<string, string> = { '/calls': '/tool-calls' }

export function isAt(place: Place, path: string): boolean {
  if (place.to === '/') return path === '/'
  const first = `/${path.split('/')[1] ?? ''}`
  return (BELOW[first] ?? first) === place.to
}
