import { setTimeout as sleep } from 'node:timers/promises'
import { createRunEngine, defineRunnable } from '@svc/registry'
import { createStore } from '@svc/store'

/** What a node is asked to do: to begin runs, to say when it began those that another node had, or to close. */
export type Order =
  | { readonly type: 'start'; readonly runs: number }
  | { readonly type: 'await'; readonly runs: number }
  | { readonly type: 'close' }

/** What a node reports; `times` are milliseconds since the epoch. */
export type Report =
  | { readonly type: 'ready' | 'started' | 'closed' }
  | { readonly type: 'begun'; readonly times: readonly number[] }

const STEP = 200
const [url, schema] = process.argv.slice(2) as [string, string]
const begun = new Map<string, number>()
let awaited: { runs: number } | undefined
const report = (message: Report) => process.send!(message)

function note(runId: string): void {
  // The same for all processes of a machine.
  if (!begun.has(runId)) begun.set(runId, performance.timeOrigin + performance.now())
  if (begun.size !== awaited?.runs) return
  awaited = undefined
  report({ type: 'begun', times: [...begun.values()] })
}

const flow = defineRunnable({
  kind: 'workflow',
  name: 'flow',
  resumable: true,
  async *stream(_input, context) {
    note(context.runId)
    for (let index = 0; ; index++) {
      await context.step(`step ${index}`, async () => sleep(STEP))
      yield { type: 'data', name: 'step', value: index }
    }
  }
})

const store = await createStore({ url, schema })
const engine = createRunEngine({ stores: store })
await engine.resume(flow)
await store.lease!.whenHeld(new AbortController().signal)
await engine.recover()

async function obey(order: Order): Promise<void> {
  if (order.type === 'await') awaited = order
  else if (order.type === 'close') {
    await engine.close()
    report({ type: 'closed' })
  } else {
    await Promise.all(Array.from({ length: order.runs }, () => engine.start(flow, 'go')))
    report({ type: 'started' })
  }
}

process.on('message', (order: Order) => void obey(order))
report({ type: 'ready' })
