import { Type } from '@sinclair/typebox'
import { createRunEngine, defineRunnable, isTerminalStatus, type StreamLog } from '@svc/registry'
import { createStore } from '@svc/store'
import type { WorkerOptions, WorkerOrder, WorkerReport } from './load.ts'

// A process of a service whose runs are reported. It reports each end of one of them to its parent.
const { store, hook, secret } = JSON.parse(process.argv[2]!) as WorkerOptions
const report = (message: WorkerReport) => process.send!(message)
// Milliseconds between two looks for questions.
const ANSWER_EVERY = 50
// Of runs with a webhook of their own.
const ONE = { reported: 'twice' }

const asking = defineRunnable({
  kind: 'workflow',
  name: 'asking',
  resumable: true,
  async *stream(_input, context) {
    await context.ask({ message: 'May I?', schema: Type.Object({}) })
    yield { type: 'text', text: 'done' }
  }
})

const { log, ...stores } = await createStore(store)
const reporting: StreamLog = {
  ...log,
  async append(...asked) {
    await log.append(...asked)
    const change = asked[3]
    if (change !== undefined && isTerminalStatus(change.status)) report({ ended: asked[0] })
  }
}
const engine = createRunEngine({
  stores: { ...stores, log: reporting },
  limits: { maxRunsPerOwner: 1_000 },
  webhooks: { allowPrivate: true, backoff: 20, timeout: 250, attempts: 100, secrets: [secret] }
})
await engine.resume(asking)
await engine.recover()

const timer = setInterval(() => void answerAll(), ANSWER_EVERY)
async function answerAll(): Promise<void> {
  try {
    const { inputs } = await engine.listInputs({ kinds: ['question'], limit: 100 })
    for (const { input } of inputs)
      await engine.answer(input.inputId, { action: 'accept', content: {} }).catch(() => {})
  } catch {
    // The next look makes up for it.
  }
}

process.on('message', (order: WorkerOrder) => void obey(order))
async function obey(order: WorkerOrder): Promise<void> {
  if ('hook' in order) {
    await engine.webhooks.create({ url: `${hook}/all`, secrets: [secret] })
    report({ hooked: true })
  } else if ('start' in order) {
    for (let count = 0; count < order.start; count++)
      await engine
        .start(asking, 'x', count % 2 === 0 ? { webhook: { url: `${hook}/one` }, metadata: ONE } : {})
        .catch(() => {})
  } else {
    const { runs } = await engine.list({ limit: 1_000 })
    const { deliveries } = await engine.webhooks.listDeliveries({ limit: 1_000 })
    const ends = runs.map(({ runId, status, metadata }) => ({ runId, status, hasOne: metadata !== null }))
    report({ runs: ends, left: deliveries.map(({ state }) => state) })
  }
}
process.on('disconnect', () => clearInterval(timer))
report({ ready: true })
