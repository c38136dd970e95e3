import { setTimeout as sleep } from 'node:timers/promises'
import { createRunEngine, defineRunnable, type ScheduleStore } from '@svc/registry'
import { createStore } from '@svc/store'
import { Pool } from 'pg'
import type { ScheduleNode } from './schedules.ts'

// A node of a service with a schedule. It reports when it is about to fire, and notes in a table which runs it executes.
const { url, schema, node, lease } = JSON.parse(process.argv[2]!) as ScheduleNode
const effects = new Pool({ connectionString: url, max: 1 })
effects.on('error', () => {})

const tick = defineRunnable({
  kind: 'workflow',
  name: 'tick',
  resumable: true,
  async *stream(_input, { runId }) {
    await effects.query(`insert into ${schema}.effect (run, node) values ($1, $2)`, [runId, node])
    await sleep(5)
    yield { type: 'text', text: 'done' }
  }
})

const { schedules, ...stores } = await createStore({ url, schema, lease, pool: 3 })
const reporting: ScheduleStore = {
  ...schedules,
  async fire(...asked) {
    process.send!({ firing: node })
    return schedules.fire(...asked)
  }
}
const engine = createRunEngine({ stores: { ...stores, schedules: reporting } })
await engine.resume(tick)
await engine.recover()
if (node === 1) await engine.schedules.create(tick, { cron: '0 0 1 1 *', input: 'tick' })
process.on('message', () => engine.schedules.known())
process.send!({ ready: true })
