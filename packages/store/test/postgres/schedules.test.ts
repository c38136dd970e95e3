import { setTimeout as pause } from 'node:timers/promises'
import { createRunEngine, defineRunnable, type RunEngine, type Stores } from '@svc/registry'
import { startPostgres } from '@tools/postgres'
import t, { type Test } from 'tap'
import { createNodes, type Nodes } from '../helpers/nodes.ts'

const server = await startPostgres().catch((err: Error) => err)
const NODES = 4
const INSTANTS = 5

t.setTimeout(120_000)

/** Engines on one schema, each with the runnable `ticker`; `begun` counts its runs. */
async function startEngines(t: Test, { open }: Nodes, count: number) {
  const begun = new Map<string, number>()
  const engines: RunEngine[] = []
  const allStores: Stores[] = []
  for (let index = 0; index < count; index++) {
    const ticker = defineRunnable({
      kind: 'agent',
      name: 'ticker',
      resumable: true,
      run(_, { runId }) {
        begun.set(runId, (begun.get(runId) ?? 0) + 1)
        return 'done'
      }
    })
    const stores = await open()
    allStores.push(stores)
    const engine = createRunEngine({ stores, drainTimeout: 0 })
    t.teardown(() => engine.close())
    await engine.resume(ticker)
    await engine.recover()
    engines.push(engine)
    if (index === 0) await engine.schedules.create(ticker, { cron: '0 0 1 1 *', input: 'tick' })
  }
  return { engines, begun, stores: allStores }
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(20)
}

t.test('schedules on Postgres', { skip: server instanceof Error && server.message }, async (t) => {
  if (server instanceof Error) return
  t.teardown(() => server.stop())

  await t.test('nodes on one database fire each instant once, and its run begins once', async (t) => {
    const nodes = await createNodes(t, server.url)
    const { admin, schema } = nodes
    const { engines, begun } = await startEngines(t, nodes, NODES)
    const countRuns = async () =>
      Number((await admin.query(`select count(*) from ${schema}.run`)).rows[0].count)
    for (let instant = 1; instant <= INSTANTS; instant++) {
      const past = `extract(epoch from clock_timestamp()) * 1000 - 1`
      await admin.query(`update ${schema}.schedule set next_at = (${past})::bigint`)
      // Every node looks at once.
      for (const engine of engines) engine.schedules.known()
      await until(async () => (await countRuns()) >= instant)
    }
    await until(() => begun.size === INSTANTS)
    await Promise.all(engines.map((engine) => engine.schedules.idle()))
    t.equal(await countRuns(), INSTANTS)
    t.same([...begun.values()], Array<number>(INSTANTS).fill(1))
  })

  await t.test('an instant that one node has planned is fired by another if the first is gone', async (t) => {
    const nodes = await createNodes(t, server.url)
    const { engines, begun, stores } = await startEngines(t, nodes, 2)
    const told = new Promise<void>((resolve) => {
      stores[1]!.schedules!.onPlanned!(resolve)
    })
    const { schedules } = await engines[0]!.schedules.list({ limit: 1 })
    await engines[0]!.schedules.update(schedules[0]!.scheduleId, { at: new Date(Date.now() + 1_000) })
    await told
    await engines[0]!.close()
    await until(() => begun.size === 1)
    await engines[1]!.schedules.idle()
    const fired = await engines[1]!.schedules.get(schedules[0]!.scheduleId)
    t.same([fired?.lastRunId], [...begun.keys()])
  })
})
