import { expect, test } from 'vitest'
import { wordsOf, type Said } from './saidWords'

const said = (method: string, params: unknown, more: Partial<Said> = {}): Said => ({
  id: '1',
  started_ms: 5,
  duration_ms: null,
  kind: method.startsWith('notifications/') ? 'notification' : 'request',
  sender: 'server',
  method,
  server: 'tickets',
  tool: 'tickets__close',
  outcome: 'answered',
  error_code: null,
  params: typeof params === 'string' ? params : JSON.stringify(params),
  answer: null,
  ...more,
})
const question = (method: string, params: unknown, answer: unknown, outcome: Said['outcome'] = 'answered') =>
  wordsOf(said(method, params, { answer: JSON.stringify(answer), outcome }))

test('progress says how far, of how much, and its message', () => {
  expect(wordsOf(said('notifications/progress', { progress: 3, total: 10, message: 'reading' }))).toMatchObject({
    kind: 'progress',
    text: '3 of 10 · reading',
  })
  expect(wordsOf(said('notifications/progress', { progress: 3 })).text).toBe('3')
})

test('a log line has its level, its logger and its data', () => {
  const line = wordsOf(said('notifications/message', { level: 'warning', logger: 'db', data: { slow: true } }))
  expect(line).toMatchObject({ kind: 'log', title: 'log · warning', text: 'db · {"slow":true}', variable: '--cg-refused' })
})

test('a question stands beside its answer', () => {
  expect(
    question('elicitation/create', { message: 'Close T-1042?' }, { action: 'accept', content: { sure: true } }),
  ).toMatchObject({ kind: 'question', title: 'asks the person', text: 'Close T-1042?', answer: 'accept · {"sure":true}' })
  const messages = [{ role: 'user', content: { type: 'text', text: 'Sum it up' } }]
  expect(
    question(
      'sampling/createMessage',
      { messages, maxTokens: 5 },
      { role: 'assistant', model: 'm-1', content: { type: 'text', text: 'Short.' } },
    ),
  ).toMatchObject({ title: 'asks the model', text: 'Sum it up', answer: 'Short. · m-1' })
  expect(question('roots/list', {}, { roots: [{ uri: 'file:///home' }] }).answer).toBe('file:///home')
})

test('a question without an answer says why', () => {
  const ask = (outcome: Said['outcome'], answer: string | null = null) =>
    wordsOf(said('elicitation/create', { message: '?' }, { outcome, answer })).answer
  expect(ask(null)).toBe('waiting for the answer')
  expect(ask('cancelled')).toBe('taken back before it was answered')
  expect(ask('refused', '{"code":-32601,"message":"Method not found"}')).toBe(
    'refused: the client was not asked · Method not found',
  )
})

test('what is cut or of another shape is shown as it is', () => {
  expect(wordsOf(said('elicitation/create', '{"message":"very lo')).text).toBe('{"message":"very lo')
  expect(wordsOf(said('notifications/message', { level: 7, data: null })).text).toBe('null')
  expect(wordsOf(said('sampling/createMessage', { messages: 'none' })).text).toBe('')
  expect(wordsOf(said('notifications/resources/updated', { uri: 'x://y' }))).toMatchObject({
    kind: 'notice',
    title: 'notifications/resources/updated',
    text: '{"uri":"x://y"}',
  })
})
