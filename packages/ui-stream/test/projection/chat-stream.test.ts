import type { NumberedPart, Part } from '@svc/registry'
import { entryFromJson } from '@svc/contract/stores'
import type { StreamStart } from '@svc/surface'
import t from 'tap'
import { ChatStream } from '../../src/projection/chat-stream.ts'
import { MessageChunks } from '../../src/projection/message-chunks.ts'
import type { UiChunk } from '../../src/wire/chunks.ts'

const expiresAt = '2026-01-01T00:00:00.000Z'
const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }
const start: Part = { type: 'start', runId: 'r', sessionId: 's', kind: 'agent', name: 'a', input: 'Hi' }
const finish: Part = { type: 'finish', finishReason: 'stop', usage, durationMs: 0, structured: null }

/** A stream, and what it sends for each part of a log. */
function open(options?: StreamStart) {
  const stream = new ChatStream(
    new MessageChunks({ fileUrl: () => undefined, steeringMessages: false }),
    options
  )
  let seq = 0
  const add = (part: Part) => {
    const numbered = { ...part, seq: ++seq, at: 0 } satisfies NumberedPart
    return Array.from(stream.encode(entryFromJson(seq, JSON.stringify(numbered)))).join('')
  }
  return { stream, add }
}

const chunksOf = (text: string) =>
  text
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as UiChunk)

t.test(
  'a stream ends where the log has nothing more and the run waits, and not where it was just answered',
  async (t) => {
    const ask: Part = {
      type: 'tool.approval.request',
      approvalId: 'r.1',
      toolCallId: 'call-1',
      toolName: 'send',
      args: {},
      expiresAt
    }
    const waiting = open()
    waiting.add(start)
    t.equal(waiting.stream.atPresent(), '', 'it works')
    waiting.add(ask)
    t.match(chunksOf(waiting.stream.atPresent()), [{ type: 'finish', finishReason: 'tool-calls' }])
    t.equal(waiting.stream.ended, true)

    const answered = open({ answered: ['r.1'] })
    answered.add(start)
    answered.add({ type: 'tool.call', toolCallId: 'call-1', toolName: 'send', args: {} })
    answered.add(ask)
    t.equal(answered.stream.atPresent(), '', 'the log does not have the answer yet')
    t.equal(answered.stream.ended, false)
    answered.add({ type: 'tool.approval.response', approvalId: 'r.1', toolCallId: 'call-1', approved: true })
    answered.add({ ...ask, approvalId: 'r.2', toolCallId: 'call-2' })
    answered.stream.atPresent()
    t.equal(answered.stream.ended, false, 'the first call has no outcome')
    answered.add({ type: 'tool.result', toolCallId: 'call-1', toolName: 'send', result: 1, durationMs: 0 })
    answered.stream.atPresent()
    t.equal(answered.stream.ended, true, 'the run waits again')
  }
)

t.test('an answer to an approval has its reason', async (t) => {
  const answerOf = (outcome: { approved: boolean; reason?: string }) => {
    const { add } = open()
    const call = { toolCallId: 'call-1', toolName: 'send', args: {} }
    add(start)
    add({ type: 'tool.call', ...call })
    add({ type: 'tool.approval.request', approvalId: 'r.1', expiresAt, ...call })
    return chunksOf(
      add({ type: 'tool.approval.response', approvalId: 'r.1', toolCallId: 'call-1', ...outcome })
    )
  }
  for (const outcome of [{ approved: false, reason: 'Not him' }, { approved: true }])
    t.strictSame(answerOf(outcome), [{ type: 'tool-approval-response', approvalId: 'r.1', ...outcome }])
})

t.test('what a member has said stands in the message, also if the run ends first', async (t) => {
  const { add, stream } = open()
  add(start)
  t.match(chunksOf(add({ type: 'text', text: 'So far', source: ['ada'] })), [
    { type: 'data-member-text', data: { source: ['ada'], delta: 'So far' }, transient: true }
  ])
  const last = add(finish)
  t.match(chunksOf(last), [{ type: 'data-member', data: { text: 'So far' } }, { type: 'finish' }])
  t.ok(last.endsWith('data: [DONE]\n\n'))
  t.equal(stream.ended, true)
})

t.test('large parts are sent in pieces, with the same chunks', async (t) => {
  const { add } = open()
  add(start)
  add({ type: 'tool.call', toolCallId: 'call-1', toolName: 'read', args: {} })
  const result = 'x'.repeat(300_000)
  t.strictSame(
    chunksOf(add({ type: 'tool.result', toolCallId: 'call-1', toolName: 'read', result, durationMs: 0 })),
    [{ type: 'tool-output-available', toolCallId: 'call-1', output: result, providerExecuted: true }]
  )
})

t.test('a spoken answer replaces what was written of it', async (t) => {
  const { add } = open()
  add(start)
  add({ type: 'step.start', index: 0, attempt: 1 })
  add({ type: 'text', text: 'It is sunny today' })
  const latency = {}
  const turn = {
    type: 'voice.turn',
    index: 0,
    itemId: 'i',
    status: 'interrupted',
    heardMs: 1,
    latency
  } as const
  t.match(chunksOf(add({ ...turn, text: 'It is' })), [
    { type: 'text-end' },
    { type: 'reset-step' },
    { type: 'text-start' },
    { type: 'text-delta', delta: 'It is' },
    { type: 'text-end' }
  ])
})
