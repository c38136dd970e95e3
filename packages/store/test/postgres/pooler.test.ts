import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createRunEngine, defineRunnable, type NumberedPart, type RunEngine } from '@svc/registry'
import { steppedRunnable, storedRun, textEntry } from '@svc/testing'
import { startPgBouncer } from '@tools/postgres'
import { Client } from 'pg'
import t, { type Test } from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'
import type { ReleaseOrder, ReleaseReport } from '../helpers/release-node.ts'

t.setTimeout(120_000)

// Fewer than the stores of a test open to the pooler.
const CONNECTIONS = 4
const program = fileURLToPath(new URL('../helpers/release-node.ts', import.meta.url))
const never = new AbortController().signal

async function ask(node: ChildProcess, order?: ReleaseOrder): Promise<ReleaseReport> {
  if (order !== undefined) node.send(order)
  const [report] = (await once(node, 'message')) as [ReleaseReport]
  return report
}

/** Reads a run to its end. */
async function readWhole(engine: RunEngine, runId: string): Promise<NumberedPart[]> {
  const parts: NumberedPart[] = []
  for await (const part of engine.parts(runId)) parts.push(part)
  return parts
}

function requireWhole(t: Test, seqs: readonly number[], name: string): void {
  t.same(
    seqs,
    seqs.map((_, index) => index + 1),
    `${name} has no gap, and nothing twice`
  )
}

await onPostgres(t, async (t, _open, direct) => {
  const pooler = await startPgBouncer(direct, CONNECTIONS).catch((err: Error) => err)
  await t.test('PgBouncer', { skip: pooler instanceof Error && pooler.message }, async (t) => {
    if (pooler instanceof Error) return
    t.teardown(() => pooler.stop())
    const options = { url: pooler.url, listenUrl: direct, lease: { ttl: 3_000, beat: 300 } }

    await t.test('turns, queued runs and the hand-over of a node that closes', async (t) => {
      const { open } = await createNodes(t, direct)
      const heard = new Map<string, unknown[]>()
      const began: string[] = []
      const gate = Promise.withResolvers<void>()
      let attempts = 0
      const talker = defineRunnable({
        kind: 'agent',
        name: 'talker',
        resumable: true,
        takesTurns: true,
        async run(input, { sessionId }) {
          heard.set(sessionId, [...(heard.get(sessionId) ?? []), input])
          return ''
        }
      })
      const worker = defineRunnable({
        kind: 'agent',
        name: 'worker',
        resumable: true,
        async run(input) {
          began.push(String(input))
          return ''
        }
      })
      const left = Promise.withResolvers<void>()
      const held = steppedRunnable(['one', 'two'], async (name) => {
        if (name === 'two' && ++attempts === 1) {
          left.resolve()
          await gate.promise
        }
        return name
      })
      const members: RunEngine[] = []
      t.teardown(async () => {
        for (const engine of members) await engine.close()
      })
      for (let count = 0; count < 2; count++) {
        const store = await open(options)
        const engine = createRunEngine({ stores: store, drainTimeout: 0 })
        members.push(engine)
        for (const each of [talker, worker, held]) await engine.resume(each)
        await store.lease!.whenHeld(never)
        await engine.recover()
      }
      const [first, second] = members as [RunEngine, RunEngine]

      const order = Array.from({ length: 20 }, (_, index) => `m${index}`)
      const talk = async (sessionId: string) => {
        const runs = []
        for (const [index, text] of order.entries())
          runs.push(await members[index % 2]!.start(talker, text, { sessionId }))
        for (const run of runs) await run.result()
      }
      await Promise.all(['a', 'b', 'c'].map(talk))
      for (const sessionId of ['a', 'b', 'c']) t.same(heard.get(sessionId), order, `turns of ${sessionId}`)

      const background = { onDisconnect: 'continue', queue: true } as const
      const queued = await Promise.all(
        order.map((text, index) => members[index % 2]!.start(worker, text, background))
      )
      for (const { runId } of queued) await readWhole(second, runId)
      t.same(began.toSorted(), order.toSorted(), 'each queued run begins once')

      const { runId } = await first.start(held, 'x', { onDisconnect: 'continue' })
      await left.promise
      await first.close()
      const parts = await readWhole(second, runId)
      requireWhole(
        t,
        parts.map(({ seq }) => seq),
        'the run of the node that closed'
      )
      t.equal(parts.map((part) => (part.type === 'text' ? part.text : '')).join(''), 'one;two;')
      gate.resolve()
    })

    await t.test('another node takes over the runs of one that is killed', async (t) => {
      const { schema } = await createNodes(t, direct)
      const launch = () => {
        const node = fork(program, [pooler.url, schema, JSON.stringify(options)], {
          execArgv: ['--conditions=@svc/source']
        })
        t.teardown(() => node.kill('SIGKILL'))
        return node
      }
      const [killed, next] = [launch(), launch()]
      t.same(await Promise.all([ask(killed), ask(next)]), [{ status: 'ready' }, { status: 'ready' }])
      const runs: string[] = []
      for (const session of ['a', 'b'])
        for (const queue of [false, true])
          runs.push((await ask(killed, { do: 'start', session, queue })).runId!)
      killed.kill('SIGKILL')
      for (const runId of runs) {
        const { status, seqs } = await ask(next, { do: 'read', runId })
        t.equal(status, 'completed')
        requireWhole(t, seqs!, runId)
      }
    })

    await t.test('a node has its settings within its transactions only', async (t) => {
      const { open, schema, admin } = await createNodes(t, direct)
      const store = await open(options)
      await admin.query(`
        set search_path = ${schema};
        create table seen (limit_of text);
        create function see() returns trigger language plpgsql as
          $$ begin insert into ${schema}.seen values (current_setting('idle_in_transaction_session_timeout')); return new; end $$;
        create trigger see before insert on run_part for each row execute function see()`)
      const run = storedRun()
      await store.runs.create(run)
      // Two statements.
      await Promise.all([store.runs.create(storedRun()), store.log.append(run.runId, 1, [textEntry(1)])])
      t.same((await admin.query('select limit_of from seen')).rows, [{ limit_of: '3s' }], 'if it hangs')
      // All connections of the pooler, since each is in a transaction.
      for (let count = 0; count < CONNECTIONS; count++) {
        const client = new Client(pooler.url)
        await client.connect()
        t.teardown(() => client.end())
        await client.query('begin')
        const { rows } = await client.query<{ name: string }>(
          `select name from pg_settings where source = 'session' and name <> 'application_name'`
        )
        t.same(
          rows.filter(({ name }) => /^(?:enable_|idle_in_|search_path)/.test(name)),
          []
        )
      }
    })
  })
})
