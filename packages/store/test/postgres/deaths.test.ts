import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { storedRun } from '@svc/testing'
import t, { type Test } from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes, type Nodes } from '../helpers/nodes.ts'
import type { SkewedReport } from '../helpers/skewed-node.ts'

t.setTimeout(60_000)

// So long that no test sees a lease run out.
const lease = { ttl: 600_000, beat: 200 }
const program = fileURLToPath(new URL('../helpers/skewed-node.ts', import.meta.url))

/** A process with a run of its own. */
async function startNode(t: Test, url: string, schema: string): Promise<ChildProcess> {
  const execArgv = ['--conditions=@svc/source']
  const node = fork(program, [url, schema, JSON.stringify(lease)], { execArgv })
  t.teardown(() => node.kill('SIGKILL'))
  await once(node, 'message')
  return node
}

async function ask(node: ChildProcess): Promise<SkewedReport> {
  node.send('report')
  const [report] = (await once(node, 'message')) as [SkewedReport]
  return report
}

/** Resolves once each node has made so many beats more. */
async function beats({ admin, schema }: Nodes, most: number): Promise<void> {
  const seen = async () => {
    const { rows } = await admin.query<{ seen_at: Date }>(`select seen_at from ${schema}.node`)
    return rows.map((row) => row.seen_at.getTime())
  }
  for (let beat = 0; beat < most; beat++) {
    const last = Math.max(...(await seen()))
    while (Math.min(...(await seen())) <= last) await pause(20)
  }
}

await onPostgres(t, async (t, _open, url) => {
  await t.test('a killed node is dead at once, one that hangs when its lease runs out', async (t) => {
    const { schema, admin, open } = await createNodes(t, url)
    const store = await open({ lease })
    const [killed, stopped] = [await startNode(t, url, schema), await startNode(t, url, schema)]
    const left = Promise.withResolvers<void>()
    store.lease!.onLeft(left.resolve)
    stopped.kill('SIGSTOP')
    const silent = `select from ${schema}.node where seen_at < clock_timestamp() - interval '2 seconds'`
    while ((await admin.query(silent)).rowCount === 0) await pause(50)
    killed.kill('SIGKILL')
    await left.promise
    t.equal((await store.runs.listLeft({ limit: 9 })).runs.length, 1)
    const { rows } = await admin.query(`select from ${schema}.node`)
    t.equal(rows.length, 2, 'this node, and the one that hangs')
    stopped.kill('SIGCONT')
    t.match(await ask(stopped), { timesLost: 0, left: 1 })
  })

  await t.test('a node that lives keeps its runs, however often its connections are closed', async (t) => {
    const nodes = await createNodes(t, url)
    const { admin, open } = nodes
    const [first, second] = [await open({ lease }), await open({ lease })]
    const lost: string[] = []
    first.lease!.onLost(() => void lost.push('first'))
    second.lease!.onLost(() => void lost.push('second'))
    for (const store of [first, second]) await store.runs.create(storedRun())
    await beats(nodes, 3)
    for (let round = 0; round < 6; round++) {
      await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where pid <> pg_backend_pid() and application_name = 'svc-store' and query like ${round % 2 ? `'%pg_advisory_lock%'` : `'%'`}`
      )
      await beats(nodes, 3)
    }
    t.same(lost, [])
    t.same((await first.runs.listLeft({ limit: 9 })).runs, [])
    t.ok(first.lease!.held && second.lease!.held)
  })
})
