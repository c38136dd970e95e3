import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { ANSWER, CHUNKS } from './variants.ts'

const runId = 'f47ac10b-58cc-4372-a567-0e02b2c3d479'
const sessionId = '9b2e8f6a-3c5d-4e7f-8a9b-0c1d2e3f4a5b'
const usage = { promptTokens: 10, completionTokens: 20, totalTokens: 30 }

/** Adds routes that answer about the same bytes as ours, and do nothing else. */
export function serveBare(bare: FastifyInstance, paced: boolean): void {
  bare.post('/run', async () => RESULT)
  bare.post('/a2a/send', async () => toResponse(TASK))
  for (const [path, messages] of [
    ['/stream', partsOfRun],
    ['/a2a/stream', eventsOfTask]
  ] as const)
    bare.post(path, (_request, reply) => {
      const frames = messages(paced ? () => wait(1) : undefined)
      void reply.headers({ 'content-type': 'text/event-stream' }).send(Readable.from(frames))
    })
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

async function* partsOfRun(pace?: () => Promise<void>) {
  let seq = 0
  const frame = (part: object) => `data: ${JSON.stringify({ seq: ++seq, ...part })}\nid: ${seq}\n\n`
  const at = Date.now()
  yield frame({ type: 'start', at, runId, sessionId, kind: 'agent', name: 'quick', input: 'What?' })
  yield frame({ type: 'step.start', at, index: 0, attempt: 1 })
  for (const text of CHUNKS) {
    await pace?.()
    yield frame({ type: 'text', at, text })
  }
  yield frame({ type: 'step', at, index: 0, usage })
  yield frame({ type: 'finish', at, finishReason: 'stop', usage, durationMs: 0.123, structured: null })
}

async function* eventsOfTask(pace?: () => Promise<void>) {
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
  for (const text of [...CHUNKS, '']) {
    await pace?.()
    const artifact = { artifactId: 'answer', parts: [{ kind: 'text', text }] }
    yield toFrame({ kind: 'artifact-update', ...ids, artifact, append: true, lastChunk: text === '' })
  }
  yield update('completed', true)
}

function toResponse(result: object) {
  return { jsonrpc: '2.0', id: 1, result }
}

function toFrame(result: object): string {
  return `data: ${JSON.stringify(toResponse(result))}\n\n`
}
