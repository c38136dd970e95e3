import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { ANSWER, CHUNKS, FIRST_TOKEN } from './quick.ts'

const runId = 'f47ac10b-58cc-4372-a567-0e02b2c3d479'
const sessionId = '9b2e8f6a-3c5d-4e7f-8a9b-0c1d2e3f4a5b'
const usage = { promptTokens: 10, completionTokens: 20, totalTokens: 30 }

/**
 * Adds routes that answer about the same bytes as ours, and `/ui` those of the AI SDK; they do nothing else, but `/run` of `bare-model`,
 * which asks the model of our agents.
 */
export async function serveBare(bare: FastifyInstance, variant: string): Promise<void> {
  if (variant.startsWith('bare-model')) (await import('./serve-model.ts')).serveModel(bare, variant)
  else bare.post('/run', async () => RESULT)
  bare.post('/a2a/send', async () => toResponse(TASK))
  const pace = PACES[variant.slice(variant.lastIndexOf('-') + 1)]
  for (const [path, messages] of [
    ['/stream', partsOfRun],
    ['/ui', chunksOfMessage],
    ['/a2a/stream', eventsOfTask]
  ] as const)
    bare.post(path, (_request, reply) => {
      void reply.headers({ 'content-type': 'text/event-stream' }).send(Readable.from(messages(pace)))
    })
}

/** What is awaited before a delta, by the end of the variant's name. */
type Pace = (index: number) => Promise<unknown> | undefined
const PACES: Record<string, Pace> = {
  paced: () => wait(1),
  first: (index) => (index === 0 ? wait(FIRST_TOKEN) : undefined),
  open: (index) => (index === 1 ? new Promise(() => {}) : undefined)
}

const RESULT = {
  text: ANSWER,
  toolCalls: [],
  usage,
  structured: null,
  durationMs: 0.123,
  runId,
  sessionId,
  finishReason: 'stop'
}

const ids = { contextId: sessionId, taskId: runId }
const says = (role: string, text: string) => ({
  kind: 'message',
  messageId: sessionId,
  role,
  parts: [{ kind: 'text', text }],
  ...ids
})
const asked = says('user', 'What does the fox do?')
const status = (state: string) => ({ state, timestamp: new Date().toISOString() })
const TASK = {
  kind: 'task',
  id: runId,
  contextId: sessionId,
  status: status('completed'),
  artifacts: [{ artifactId: 'answer', parts: [{ kind: 'text', text: ANSWER }] }],
  history: [asked, says('agent', ANSWER)],
  metadata: { agentName: 'quick' }
}

async function* partsOfRun(pace?: Pace) {
  let seq = 0
  const frame = (part: object) => `data: ${JSON.stringify({ seq: ++seq, ...part })}\nid: ${seq}\n\n`
  const at = Date.now()
  yield frame({ type: 'start', at, runId, sessionId, kind: 'agent', name: 'quick', input: 'What?' })
  yield frame({ type: 'step.start', at, index: 0, attempt: 1 })
  for (const [index, text] of CHUNKS.entries()) {
    await pace?.(index)
    yield frame({ type: 'text', at, text })
  }
  yield frame({ type: 'step', at, index: 0, usage })
  yield frame({ type: 'finish', at, finishReason: 'stop', usage, durationMs: 0.123, structured: null })
}

async function* chunksOfMessage(pace?: Pace) {
  for (const type of ['start', 'start-step']) yield toData({ type })
  yield toData({ type: 'text-start', id: '0' })
  for (const [index, delta] of CHUNKS.entries()) {
    await pace?.(index)
    yield toData({ type: 'text-delta', id: '0', delta })
  }
  yield toData({ type: 'text-end', id: '0' })
  for (const type of ['finish-step', 'finish']) yield toData({ type })
  yield 'data: [DONE]\n\n'
}

async function* eventsOfTask(pace?: Pace) {
  const update = (state: string, final: boolean) =>
    toFrame({ kind: 'status-update', ...ids, status: status(state), final })
  yield toFrame({
    kind: 'task',
    id: runId,
    contextId: sessionId,
    status: status('submitted'),
    history: [asked]
  })
  yield update('working', false)
  for (const [index, text] of [...CHUNKS, ''].entries()) {
    await pace?.(index)
    const artifact = { artifactId: 'answer', parts: [{ kind: 'text', text }] }
    yield toFrame({ kind: 'artifact-update', ...ids, artifact, append: true, lastChunk: text === '' })
  }
  yield update('completed', true)
}

function toResponse(result: object) {
  return { jsonrpc: '2.0', id: 1, result }
}

function toFrame(result: object): string {
  return toData(toResponse(result))
}

function toData(message: object): string {
  return `data: ${JSON.stringify(message)}\n\n`
}
