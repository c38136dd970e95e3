import { createRunEngine, defineRunnable } from '@svc/registry'
import { createStore, type StoreOptions } from '@svc/store'

/** What a node of a release is asked to do. */
export type ReleaseOrder =
  | { readonly do: 'start'; readonly session: string; readonly queue?: boolean }
  | { readonly do: 'read'; readonly runId: string }
  | { readonly do: 'close' }

/** What it answers; `seqs` are the numbers of the parts of a run, once it has ended. */
export interface ReleaseReport {
  readonly code?: string
  readonly runId?: string
  readonly status?: string
  readonly seqs?: readonly number[]
}

const STEPS = 60
const STEP = 20
const [url = '', schema = '', options = '{}'] = process.argv.slice(2)
const report = (message: ReleaseReport) => process.send!(message)

const talker = defineRunnable({
  kind: 'agent',
  name: 'talker',
  resumable: true,
  async *stream(_input, context) {
    for (let index = 0; index < STEPS; index++) {
      const said = await context.step(`${index}`, () => new Promise((done) => setTimeout(done, STEP, index)))
      yield { type: 'text', text: `${String(said)} ` }
    }
  }
})

async function serve(): Promise<void> {
  const store = await createStore({ url, schema, ...(JSON.parse(options) as StoreOptions) })
  const engine = createRunEngine({ stores: store })
  await engine.resume(talker)
  await store.lease!.whenHeld(new AbortController().signal)
  await engine.recover()
  const obey = async (order: ReleaseOrder): Promise<ReleaseReport> => {
    if (order.do === 'close') {
      await engine.close()
      await store.close()
      return {}
    }
    if (order.do === 'start') {
      const { session: sessionId, queue = false } = order
      const { runId } = await engine.start(talker, 'Go', { sessionId, onDisconnect: 'continue', queue })
      return { runId }
    }
    const seqs: number[] = []
    for await (const { seq } of engine.parts(order.runId)) seqs.push(seq)
    return { seqs, status: (await engine.find(order.runId))!.status }
  }
  process.on('message', (order: ReleaseOrder) => void obey(order).then(report))
}

serve().then(
  () => report({ status: 'ready' }),
  (err: unknown) => {
    report({ code: String((err as { code?: string }).code) })
    process.disconnect()
  }
)
