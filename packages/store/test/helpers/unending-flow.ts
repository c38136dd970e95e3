import { writeSync } from 'node:fs'
import { createRunEngine, defineRunnable } from '@svc/registry'
import { createStore } from '@svc/store'

/** Says on its standard output with which input it begins, and lasts until its process is killed. */
export const unendingFlow = defineRunnable({
  kind: 'workflow',
  name: 'flow',
  resumable: true,
  async *stream(input) {
    writeSync(1, `begun ${String(input)}\n`)
    yield { type: 'text', text: 'before the restart;' }
    await new Promise(() => setInterval(() => {}, 1_000))
  }
})

/** An engine that runs one queued run at a time, on the store whose URL is the first argument of the process. */
export async function openQueueEngine() {
  const [, , url = ''] = process.argv
  return createRunEngine({ stores: await createStore({ url }), queue: { concurrency: 1 } })
}
