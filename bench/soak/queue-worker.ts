import { setTimeout as sleep } from 'node:timers/promises'
import { randomUUID } from 'node:crypto'
import { createRunEngine, defineRunnable } from '@svc/registry'
import { createStore } from '@svc/store'
import { Pool } from 'pg'
import type { NodeOptions, QueueOrder } from './queue.ts'

// A node of a service with queued runs. It notes what it executes in a table, in the order of the database.
const options = JSON.parse(process.argv[2]!) as NodeOptions
const { url, schema, node, work, queue, lease } = options
const effects = new Pool({ connectionString: url, max: 4 })
effects.on('error', () => {})
effects.on('connect', (client) => client.on('error', () => {}))

async function note(run: string, owner: string, what: 'begin' | 'end', key: string): Promise<void> {
  for (;;) {
    try {
      const values = [key + what, run, owner, what, node]
      await effects.query(
        `insert into ${schema}.effect (key, run, owner, what, node) values ($1, $2, $3, $4, $5) on conflict do nothing`,
        values
      )
      return
    } catch {
      await sleep(50)
    }
  }
}

const flow = defineRunnable({
  kind: 'workflow',
  name: 'queued',
  resumable: true,
  queue: true,
  async *stream(_input, { runId, principal }) {
    const key = randomUUID()
    await note(runId, principal.sub, 'begin', key)
    await sleep(work)
    yield { type: 'text', text: 'done' }
    await note(runId, principal.sub, 'end', key)
  }
})

const stores = await createStore({ url, schema, lease })
const engine = createRunEngine({ stores, queue })
await engine.resume(flow)
await engine.recover()

process.on('message', ({ owner, count }: QueueOrder) => {
  let left = count
  const add = async () => {
    while (left-- > 0) await engine.start(flow, 'x', { principal: { sub: owner, scopes: [] } })
  }
  void Promise.all([add(), add(), add(), add()]).then(() => process.send!({ added: owner }))
})
process.send!({ ready: true })
