import { collectRun, type Part } from '@svc/registry'
import t from 'tap'

const usage = (n: number) => ({ promptTokens: n, completionTokens: n, totalTokens: 2 * n })

t.test('puts a result together', async (t) => {
  const parts: Part[] = [
    { type: 'start', runId: 'r', sessionId: 's', kind: 'agent', name: 'a' },
    { type: 'step.start', index: 0, attempt: 1 },
    { type: 'text', text: 'let me see' },
    { type: 'tool.call', toolCallId: '1', toolName: 't', args: { a: 1 } },
    { type: 'tool.call', toolCallId: '2', toolName: 'u', args: {} },
    { type: 'tool.call', toolCallId: '1', toolName: 'm', args: {}, source: ['member'] },
    { type: 'tool.approval.response', approvalId: 'x', toolCallId: '1', approved: true, args: { a: 2 } },
    { type: 'tool.error', toolCallId: '2', toolName: 'u', error: { code: 'X', message: 'y' } },
    { type: 'tool.result', toolCallId: '1', toolName: 't', result: 3, durationMs: 5 },
    { type: 'tool.result', toolCallId: '1', toolName: 'm', result: 4, durationMs: 6, source: ['member'] },
    { type: 'step', index: 0, usage: usage(1) },
    { type: 'step', index: 0, usage: usage(1), source: ['member'] },
    { type: 'step.start', index: 1, attempt: 1 },
    { type: 'text', text: 'void' },
    { type: 'step.start', index: 1, attempt: 2 },
    { type: 'text', text: 'the ' },
    { type: 'text', text: 'aside', source: ['member'] },
    { type: 'step.start', index: 0, attempt: 1, source: ['member'] },
    { type: 'text', text: 'answer' },
    { type: 'structured', value: { b: 1 } },
    { type: 'step', index: 1, usage: usage(2) },
    { type: 'finish', finishReason: 'stop', usage: usage(9), durationMs: 12, structured: { b: 1 } }
  ]
  t.same(await collectRun(parts), {
    text: 'the answer',
    toolCalls: [
      { toolCallId: '1', toolName: 't', args: { a: 2 }, result: 3, durationMs: 5 },
      { toolCallId: '2', toolName: 'u', args: {}, error: { code: 'X', message: 'y' }, durationMs: 0 },
      { toolCallId: '1', toolName: 'm', args: {}, result: 4, durationMs: 6, source: ['member'] }
    ],
    usage: usage(9),
    structured: { b: 1 },
    durationMs: 12,
    runId: 'r',
    sessionId: 's',
    finishReason: 'stop'
  })
  const cut = await collectRun(parts.slice(0, -1))
  t.same(cut.usage, usage(4), 'without a finish the steps are summed')
  t.equal(cut.finishReason, 'other')
})
