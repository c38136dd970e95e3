import http from '@svc/http'
import registry, { createRegistry } from '@svc/registry'
import { Agent } from '@svc/runtime'
import { scriptedModel } from '@svc/runtime/testing'
import store from '@svc/store'
import { COUNTED, ServerLoad, startPostgres, type Load } from '@tools/postgres'
import t from 'tap'
import { serve, type Served } from './helpers/serve.ts'

// What runs in sessions cost Postgres, as counts: a busy machine changes none of them.

const NODES = 3
const OWN = 50
const ROUNDS = 4
const CALLERS = 150
const IN_ONE = 20

const server = await startPostgres({ settings: { ...COUNTED, autovacuum: 'off' } }).catch((err: Error) =>
  t.comment(`no Postgres on this machine: ${err.message}`)
)

/** Serves an agent with sessions on the database. */
async function open(url: string): Promise<Served> {
  const agents = createRegistry()
  new Agent({ name: 'echo', model: scriptedModel('Hello.', { record: false }), registry: agents })
  return await serve(t, async (app) => {
    await app.register(store, { url })
    await app.register(registry, { registry: agents, limits: { maxRuns: 10_000 } })
    await app.register(http, { prefix: '/api' })
  })
}

/** The status of the answer to a message. */
async function send({ ask }: Served, sessionId: string, headers = {}): Promise<number> {
  return (await ask('POST', '/api/agents/echo/run', { input: 'Hi', sessionId }, headers)).status
}

if (server) {
  t.teardown(() => server.stop())
  const load = await ServerLoad.watch(server.url)
  t.teardown(() => load.close())
  const nodes = await Promise.all(Array.from({ length: NODES }, () => open(server.url)))
  const refused: number[] = []
  const done: Load[] = []
  let sent = 0
  const sendAll = async (
    length: number,
    nodeOf: (index: number) => Served,
    idOf: (index: number) => string
  ) => {
    sent += length
    const statuses = await Promise.all(Array.from({ length }, (_, index) => send(nodeOf(index), idOf(index))))
    refused.push(...statuses.filter((status) => status !== 200))
  }

  await t.test(
    'runs with idempotency keys read as little after many others, with plans of an empty database',
    async (t) => {
      const blocks = async (round: number) => {
        const all = Array.from({ length: OWN }, (_, index) =>
          send(nodes[0]!, `keyed-${index}`, { 'idempotency-key': `${round}-${index}` })
        )
        sent += OWN
        refused.push(...(await Promise.all(all)).filter((status) => status !== 200))
        const read = (await load.statements()).reduce((sum, statement) => sum + statement.blocks, 0)
        return read / OWN
      }
      await blocks(0)
      const few = await blocks(1)
      for (let round = 2; round < 8; round++) await blocks(round)
      const many = await blocks(8)
      // Indexes get a second level meanwhile; a plan that reads a whole table would add hundreds.
      t.ok(many <= 2 * few, `${few} blocks a run, ${many} after 350 more`)
      t.ok(many <= 250, `${many} blocks a run`)
      done.push(await load.since())
    }
  )

  await t.test('the second turns of 50 sessions share their transactions', async (t) => {
    const turns = () =>
      sendAll(
        OWN,
        () => nodes[0]!,
        (index) => `own ${index}`
      )
    await turns()
    const first = await load.since()
    for (let round = 0; round < ROUNDS; round++) await turns()
    const later = await load.since()
    const { statements, wal, cpu } = later
    done.push(first, later)
    const each = (count: number) => count / (OWN * ROUNDS)
    t.ok(each(statements) <= 5, `${each(statements)} statements a run`)
    t.ok(each(wal) <= 6_000, `${each(wal)} bytes of WAL a run`)
    t.comment(`${each(cpu)} µs of CPU of the server a run`)
  })

  await t.test('callers on three nodes meet no conflict', async (t) => {
    const nodeOf = (index: number) => nodes[index % NODES]!
    for (let round = 0; round < 2; round++) await sendAll(CALLERS, nodeOf, (index) => `many ${index}`)
    await sendAll(IN_ONE, nodeOf, () => 'one session')
    t.same(refused, [])
    // A server counts what a connection did once that ends, or some seconds later.
    for (const { app } of nodes) await app.close()
    done.push(await load.since())
    const commits = done.reduce((sum, each) => sum + each.commits, 0)
    const rollbacks = done.reduce((sum, each) => sum + each.rollbacks, 0)
    t.ok(rollbacks / sent <= 0.02, `${rollbacks / sent} rollbacks a run`)
    t.ok(commits / sent <= 2, `${commits / sent} commits a run`)
  })
}
