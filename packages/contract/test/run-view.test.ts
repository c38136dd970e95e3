import t from 'tap'
import type { Part, PartOf } from '../src/part.ts'
import { RunView } from '../src/run-view.ts'

const expiresAt = '2026-01-01T00:00:00.000Z'
const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }
const step: Part[] = [
  { type: 'step.start', index: 0, attempt: 1 },
  { type: 'step', index: 0, usage }
]
const call = (toolCallId: string, more: Partial<PartOf<'tool.call'>> = {}): Part => ({
  type: 'tool.call',
  toolCallId,
  toolName: 'act',
  args: {},
  ...more
})
const done = (toolCallId: string, source?: string[]): Part => ({
  type: 'tool.result',
  toolCallId,
  toolName: 'act',
  result: 1,
  durationMs: 0,
  ...(source && { source })
})
const approval = (toolCallId: string, source?: string[]): Part => ({
  type: 'tool.approval.request',
  approvalId: `approval-${toolCallId}`,
  toolCallId,
  toolName: 'act',
  args: {},
  expiresAt,
  ...(source && { source })
})
const question = (more: Partial<PartOf<'input.request'>> = {}): Part => ({
  type: 'input.request',
  inputId: 'question',
  kind: 'question',
  message: '?',
  expiresAt,
  ...more
})

/** Whether a run waits after each of these parts, `-` for no. */
function waits(parts: readonly Part[]): string {
  const view = new RunView()
  return parts
    .map((part, at) => (view.add({ ...part, seq: at + 1, at }), view.isWaiting ? 'w' : '-'))
    .join('')
}

t.test('a run waits once all parallel calls do, and not before its step is over', async (t) => {
  const [begin, end] = step as [Part, Part]
  t.equal(waits([begin, call('1'), call('2'), end, approval('1'), approval('2')]), '-----w')
  t.equal(waits([begin, call('1'), call('2'), end, approval('1'), done('2')]), '-----w')
  t.equal(waits([begin, call('1'), approval('1'), end]), '---w', 'tools may begin while the model speaks')
  const response: Part = {
    type: 'tool.approval.response',
    approvalId: 'approval-1',
    toolCallId: '1',
    approved: true
  }
  t.equal(waits([call('1'), approval('1'), response, done('1')]), '-w--')
})

t.test('a call waits with the calls that it made, and with its members', async (t) => {
  t.equal(waits([call('1'), call('1.1', { parentToolCallId: '1' }), approval('1.1')]), '--w')
  t.equal(waits([call('1'), call('2', { source: ['ada'] }), approval('2', ['ada'])]), '--w')
  const other = call('3', { source: ['bob'] })
  t.equal(waits([call('1'), call('2', { source: ['ada'] }), other, approval('2', ['ada'])]), '----')
  t.equal(waits([call('1'), question()]), '-w', 'a question of the agent itself, in a tool')
  t.equal(waits([call('1'), call('2'), question({ toolCallId: '1' })]), '---')
})

t.test('what can have no outcome keeps no run busy', async (t) => {
  t.equal(waits([call('1', { providerExecuted: true }), question()]), '-w')
  const again: Part = { type: 'step.start', index: 0, attempt: 2 }
  t.equal(waits([...step, call('1'), again, step[1]!, question({ toolCallId: '9' })]), '-----w')
  const ended: Part = {
    type: 'finish',
    finishReason: 'stop',
    usage,
    durationMs: 0,
    structured: null,
    source: ['ada']
  }
  t.equal(waits([call('2', { source: ['ada'] }), ended, question({ toolCallId: '9' })]), '--w')
})

t.test('a run or a member that has ended waits for nothing, even for what was never answered', async (t) => {
  const finish = (source?: string[]): Part => ({
    type: 'finish',
    finishReason: 'canceled',
    usage,
    durationMs: 0,
    structured: null,
    ...(source && { source })
  })
  t.equal(waits([...step, call('1'), approval('1'), finish()]), '---w-')
  t.equal(waits([...step, question(), finish()]), '--w-')
  t.equal(waits([question({ source: ['ada'] }), finish(['bob']), finish(['ada'])]), 'ww-')
  const error = { code: 'RUN_ERR_FAILED', message: 'off', retryable: false }
  t.equal(waits([question(), { type: 'error', error }]), 'w-')
})
