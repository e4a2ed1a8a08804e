import { expect, test } from 'vitest'
import type { ClientEntry } from '@/api/client'
import { better, clientOf, OTHER } from './seen'

const clients = [
  { id: 'claude-code', calls_itself: ['claude-code'] },
  { id: 'claude-desktop', calls_itself: ['claude-ai'] },
  { id: 'vscode', calls_itself: ['visual studio code', 'vscode'] },
  { id: 'cursor', calls_itself: ['cursor'] },
] as ClientEntry[]

test.each([
  ['claude-code/2.1.19', 'claude-code'],
  ['claude-ai/0.1.0', 'claude-desktop'],
  ['Visual Studio Code - Insiders/1.107.0', 'vscode'],
  ['cursor-vscode/1.0.0', 'cursor'],
  ['my agent/1', OTHER],
  ['callgate-cli/0.1.0', null],
  ['', null],
  [null, null],
])('%s is %s', (name, id) => {
  expect(clientOf(name, clients)).toBe(id)
})

test('a call counts more than a connection, then the newer one', () => {
  const connected = { state: 'connected', at: '2026-11-12T12:00:00Z', sessionId: 'b' } as const
  const called = { state: 'called', at: '2026-11-12T11:00:00Z', sessionId: 'a' } as const
  const later = { state: 'called', at: '2026-11-12T11:30:00Z', sessionId: 'c' } as const
  expect(better(undefined, connected)).toBe(connected)
  expect(better(connected, called)).toBe(called)
  expect(better(called, connected)).toBe(called)
  expect(better(called, later)).toBe(later)
  expect(better(later, called)).toBe(later)
})
