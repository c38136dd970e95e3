import { cases } from '@tools/wires/volume'
import {
  array,
  assert,
  constant,
  constantFrom,
  nat,
  oneof,
  property,
  record,
  string,
  tuple
} from 'fast-check'
import t from 'tap'
import { cutHistory, type SaidMessage } from '../../src/sessions/history.ts'

const user = (content: string): SaidMessage => ({ role: 'user', content })
const says = (text: string, ...calls: string[]): SaidMessage => ({
  role: 'assistant',
  text,
  ...(calls.length > 0 && { toolCalls: calls.map((toolCallId) => ({ toolCallId, toolName: 'x', args: {} })) })
})
const result = (toolCallId: string): SaidMessage => ({
  role: 'tool',
  toolCallId,
  toolName: 'x',
  result: 1
})
const limits = { maxMessages: 50, maxTokens: Infinity }
const turn = [user('q'), says('', 'a', 'b'), result('b'), result('a'), says('done')]

t.test('messages within the limits are unchanged', async (t) => {
  t.strictSame(cutHistory(turn, limits), turn)
  t.strictSame(cutHistory([], limits), [])
})

t.test('the history starts with a user message', async (t) => {
  t.strictSame(cutHistory(turn.slice(1), limits), [])
  t.strictSame(cutHistory([...turn, user('r')], { ...limits, maxMessages: 4 }), [user('r')])
  t.strictSame(cutHistory(turn, { ...limits, maxMessages: 0 }), [])
})

t.test('by tokens, about three bytes each', async (t) => {
  const messages = [user('x'.repeat(40)), says('y'.repeat(40)), user('z'.repeat(40)), says('w'.repeat(40))]
  t.strictSame(cutHistory(messages, { ...limits, maxTokens: 56 }), messages)
  t.strictSame(cutHistory(messages, { ...limits, maxTokens: 55 }), messages.slice(2))
  t.strictSame(cutHistory(messages, { ...limits, maxTokens: 27 }), [])
})

const cut = (...messages: SaidMessage[]) => cutHistory([user('q'), ...messages], limits).slice(1)

t.test('by tokens, counted by the caller', async (t) => {
  const messages = [user('one two three'), says('four'), user('five six'), says('seven')]
  const countTokens = (text: string) => text.split(' ').length
  const cut = (maxTokens: number) => cutHistory(messages, { maxMessages: 50, maxTokens, countTokens }).length
  t.equal(cut(7), 4)
  t.equal(cut(6), 2, 'what does not fit whole is left out, and it begins at a user message')
  t.equal(cut(3), 2)
  t.equal(cut(2), 0)
  t.equal(cutHistory(messages, { maxMessages: 50, maxTokens: 5, countTokens: () => NaN }).length, 0)
})

t.test('calls without results, and results without calls', async (t) => {
  t.strictSame(cut(result('a')), [])
  t.strictSame(cut(says('x'), result('a')), [says('x')])
  t.strictSame(cut(says('', 'a')), [])
  t.strictSame(cut(says('x', 'a')), [says('x')])
  t.strictSame(cut(says('x', 'a', 'b'), result('b'), result('c')), [says('x', 'b'), result('b')])
  t.strictSame(cut(says('', 'a'), says('', 'a'), result('a')), [says('', 'a'), result('a')])
})

// Providers require a user message first, and the result of every call before the next message.
function isValid(messages: SaidMessage[]): boolean {
  if (messages.length > 0 && messages[0]?.role !== 'user') return false
  let open = new Set<string>()
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.delete(message.toolCallId)) return false
      continue
    }
    if (open.size > 0) return false
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
    open = new Set(calls.map((call) => call.toolCallId))
    if (open.size !== calls.length) return false
  }
  return open.size === 0
}

t.test('any stored history becomes valid for providers', async () => {
  const id = constantFrom('a', 'b', 'c')
  const message = oneof(
    string().map(user),
    tuple(string(), array(id, { maxLength: 3 })).map(([text, calls]) => says(text, ...calls)),
    id.map(result)
  )
  const sizes = record({ maxMessages: nat(30), maxTokens: oneof(nat(40), constant(Infinity)) })
  assert(
    property(array(message, { maxLength: 40 }), sizes, (messages, options) => {
      const kept = cutHistory(messages, options)
      return kept.length <= options.maxMessages && isValid(kept)
    }),
    { numRuns: cases(1_000) }
  )
})
