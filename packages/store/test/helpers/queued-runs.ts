import { writeSync } from 'node:fs'
import { createRunEngine, defineRunnable } from '@svc/registry'
import { createStore } from '@svc/store'

// Queues three runs, says their ids and which begin, and ends none of them, until it is killed.
const [, , url = ''] = process.argv
const flow = defineRunnable({
  kind: 'workflow',
  name: 'flow',
  resumable: true,
  async *stream(input) {
    writeSync(1, `begun ${String(input)}\n`)
    yield { type: 'text', text: 'before the restart;' }
    await new Promise(() => setInterval(() => {}, 1_000))
  }
})
const engine = createRunEngine({ stores: await createStore({ url }), queue: { concurrency: 1 } })
for (const input of ['1', '2', '3']) {
  const { runId } = await engine.start(flow, input, { queue: true })
  writeSync(1, `${runId}\n`)
}
