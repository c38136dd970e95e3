import type { ResponseEvent } from '@svc/openai'
import type { NumberedPart, Part } from '@svc/registry'
import { entryFromJson } from '@svc/contract/stores'
import t from 'tap'
import { ResponseBuilder } from '../../src/responses/response-builder.ts'
import { ResponseStream } from '../../src/responses/response-stream.ts'

const expiresAt = '2026-01-01T00:00:00.000Z'
const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }
const start: Part = { type: 'start', runId: 'r', sessionId: 's', kind: 'agent', name: 'a', input: 'Hi' }
const finish: Part = { type: 'finish', finishReason: 'stop', usage, durationMs: 0, structured: null }
const call = (toolCallId: string): Part => ({ type: 'tool.call', toolCallId, toolName: 'send', args: {} })
const askFor = (toolCallId: string): Part => ({
  type: 'tool.approval.request',
  approvalId: `r.${toolCallId}`,
  toolCallId,
  toolName: 'send',
  args: {},
  expiresAt
})
const approve = (toolCallId: string): Part => ({
  type: 'tool.approval.response',
  approvalId: `r.${toolCallId}`,
  toolCallId,
  approved: true
})
const result = (toolCallId: string, value: unknown = 1): Part => ({
  type: 'tool.result',
  toolCallId,
  toolName: 'send',
  result: value,
  durationMs: 0
})

const view = { fileUrl: () => undefined, toolCalls: 'mcp_call' } as const

/** A stream of a response, and the events that it sends for each part of a log. */
function open(id = 'resp_r') {
  const stream = new ResponseStream(new ResponseBuilder(view), id)
  let seq = 0
  const add = (part: Part): string => {
    const numbered = { ...part, seq: ++seq, at: 0 } satisfies NumberedPart
    return Array.from(stream.encode(entryFromJson(seq, JSON.stringify(numbered)))).join('')
  }
  const typesOf = (part: Part) => eventsOf(add(part)).map(({ type }) => type)
  return { stream, add, typesOf }
}

function eventsOf(text: string): ResponseEvent[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as ResponseEvent)
}

t.test('a run in the queue is queued, until something of it is logged', async (t) => {
  const { add } = open()
  t.match(eventsOf(add({ ...start, queued: true })), [
    { type: 'response.created', response: { status: 'queued' } },
    { type: 'response.queued', response: { status: 'queued' } }
  ])
  t.match(eventsOf(add({ type: 'text', text: 'Hi' })), [
    { type: 'response.in_progress', response: { status: 'in_progress' } },
    { type: 'response.output_item.added' },
    { type: 'response.content_part.added' },
    { type: 'response.output_text.delta' }
  ])
})

t.test(
  'a response ends where all that it asked for is pending, and the next one begins with the answers',
  async (t) => {
    const first = open()
    const second = open('resp_r_5')
    const log = [start, call('1'), call('2'), askFor('1'), askFor('2')]
    for (const part of log.slice(0, -1)) first.add(part)
    t.equal(first.stream.ended, false, 'the other call is under way')
    t.match(first.typesOf(log.at(-1)!).at(-1), 'response.completed')
    t.equal(first.stream.ended, true)

    for (const part of log) t.equal(second.add(part), '')
    t.same(second.typesOf(approve('1')), [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.delta',
      'response.mcp_call_arguments.done'
    ])
    second.add(result('1'))
    t.equal(second.stream.ended, false, 'the other answer belongs to this response')
    second.add(approve('2'))
    const last = second.add({ ...finish })
    t.match(eventsOf(last).at(-1), { response: { id: 'resp_r_5', previous_response_id: 'resp_r' } })
    t.ok(last.endsWith('data: [DONE]\n\n'))
  }
)

t.test('a response that ends with the error of a member is not the last one', async (t) => {
  const source = ['ada']
  const error = { code: 'RUN_ERR_FAILED', message: 'off', retryable: false }
  const second = open('resp_r_5')
  const begun: Part = { type: 'step.start', index: 0, attempt: 1, source }
  for (const part of [start, begun, call('1'), askFor('1')]) second.add(part)
  t.equal(second.add({ type: 'error', error, source }), '')
  t.match(eventsOf(second.add(approve('1')))[0], {
    type: 'response.created',
    response: { status: 'in_progress', completed_at: null }
  })
})

t.test('what was spoken in a turn of a call stands for all that its steps wrote', async (t) => {
  const { add } = open()
  const step = (index: number): Part => ({ type: 'step.start', index, attempt: 1 })
  const turn = {
    type: 'voice.turn',
    index: 0,
    itemId: 'i',
    status: 'interrupted',
    heardMs: 1,
    latency: {}
  } as const
  for (const part of [start, step(0), { type: 'text', text: 'One. ' } as const, step(1)]) add(part)
  for (const part of [{ type: 'text', text: 'Two.' } as const, { ...turn, text: 'One. T' }]) add(part)
  const { response } = eventsOf(add(finish)).at(-1) as { response: { output: unknown } }
  t.match(response.output, [{ type: 'message', content: [{ text: 'One. T' }] }])
  t.match(response.output, { length: 1 })
})

t.test('large parts are sent in pieces, with the same events', async (t) => {
  const { add } = open()
  add(start)
  add(call('1'))
  const output = 'x'.repeat(300_000)
  t.match(eventsOf(add(result('1', output))), [
    { type: 'response.mcp_call.completed' },
    { type: 'response.output_item.done', item: { output } }
  ])
  const last = add(finish)
  t.match(eventsOf(last), [{ type: 'response.completed', response: { output: [{ output }] } }])
  t.ok(last.endsWith('data: [DONE]\n\n'))
})

t.test('a spoken answer replaces what was written of it', async (t) => {
  const { add } = open()
  add(start)
  add({ type: 'step.start', index: 0, attempt: 1 })
  add({ type: 'text', text: 'It is sunny today' })
  const turn = {
    type: 'voice.turn',
    index: 0,
    itemId: 'i',
    status: 'interrupted',
    heardMs: 1,
    latency: {}
  } as const
  add({ ...turn, text: 'It is' })
  const [completed] = eventsOf(add(finish))
  t.match(completed, { response: { output: [{ type: 'message', content: [{ text: 'It is' }] }] } })
  t.equal(completed && 'response' in completed && completed.response.output.length, 1)
})

t.test('a log that cannot be read further is a failed response', async (t) => {
  const stream = new ResponseStream(new ResponseBuilder(), 'resp_r')
  stream.encode(entryFromJson(1, JSON.stringify({ ...start, seq: 1, at: 0 })))
  const error = { code: 'RUN_ERR_STORE', message: 'off', retryable: true }
  const text = stream.encode(entryFromJson(0, JSON.stringify({ type: 'error', error, seq: 0, at: 0 })))
  t.match(eventsOf(Array.from(text).join('')), [
    { type: 'response.failed', response: { error: { code: 'RUN_ERR_STORE' } } }
  ])
})
