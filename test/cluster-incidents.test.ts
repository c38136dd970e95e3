import { setTimeout as pause } from 'node:timers/promises'
import type { NumberedPart } from '@svc/registry'
import { startPostgres } from '@tools/postgres'
import t, { type Test } from 'tap'
import { followRun } from '../bench/soak/agents/follow-run.ts'
import type { ClusterNode } from '../bench/soak/cluster/cluster-node.ts'
import { createCluster } from '../bench/soak/cluster/cluster.ts'
import { readEffects } from '../bench/soak/cluster/effects.ts'
import { Reach } from '../bench/soak/cluster/reach.ts'
import { get, post, startOn } from '../bench/soak/cluster/requests.ts'
import { Random } from '../bench/soak/random.ts'

t.setTimeout(180_000)

const LEASE = { ttl: 1_500, beat: 300 }
const HOUR = 3_600_000
const postgres = await startPostgres().catch((err: Error) => err)
const skip = postgres instanceof Error && postgres.message

t.test('incidents of three nodes', { skip }, async (t) => {
  if (postgres instanceof Error) return
  const cluster = createCluster({ postgres, clockShifts: [0, 0, HOUR], lease: LEASE })
  t.teardown(() => cluster.close())
  const [first, second, third] = cluster.nodes as [ClusterNode, ClusterNode, ClusterNode]
  await Promise.all(cluster.nodes.map((node) => node.start()))
  const over = AbortSignal.timeout(120_000)

  /** On a busy machine a node may lose its lease at any time, and joins again by itself. */
  const untilReady = async (node: ClusterNode) => {
    while ((await get(node.url!, '/api/readyz')).status !== 200) await pause(100)
  }

  /** Starts a run on a node, with readers on this one and on another, and lets something happen once both have read some of it. */
  const during = async (t: Test, path: string, node: ClusterNode, other: ClusterNode, act: () => unknown) => {
    await untilReady(node)
    const runId = await startOn(node.url!, path)
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const read = (from: ClusterNode, index: number) => {
      const reach = new Reach(cluster.nodes, new Random(index), over).prefer(from.url!)
      const onPart = ({ seq, type }: NumberedPart) => {
        if (seq === 3 || type === 'tool.approval.request') begun[index]!.resolve()
      }
      return followRun(reach, runId, { random: new Random(7), onPart, patience: 4_000 })
    }
    const reading = Promise.all([read(node, 0), read(other, 1)])
    await Promise.all(begun.map(({ promise }) => promise))
    await act()
    const [here, there] = await reading
    t.same(here, there, 'all readers get the same')
    t.same(
      here.map(({ seq }) => seq),
      here.map((_, index) => index + 1),
      'no gap, nothing twice'
    )
    t.match(here.at(-1), { type: 'finish', finishReason: 'stop' })
    return processesOf(runId)
  }

  /** The processes that executed steps of a run. */
  const processesOf = (runId: string) => {
    const effects = readEffects(cluster.effects).filter(({ key }) => key.startsWith(runId))
    return new Set(effects.map(({ writer }) => writer)).size
  }

  /** A run that works on this node. */
  const works = async (node: ClusterNode) => {
    await untilReady(node)
    const { status, body } = await post(node.url!, '/api/agents/brief/run', { input: 'Go.' })
    return status === 200 && body.text.startsWith('word0')
  }

  await t.test('a node is killed', async (t) => {
    await during(t, 'workflows/flow', first, second, () => first.kill())
    await first.start()
    t.ok(await works(first))
  })

  await t.test('a node is stopped for longer than its lease', async (t) => {
    await during(t, 'workflows/flow', first, second, async () => {
      first.pause()
      await pause(2 * LEASE.ttl)
      first.resume()
    })
    t.ok(await works(first), 'it has joined again')
  })

  await t.test('a node is cut off from the database for longer than its lease', async (t) => {
    await during(t, 'workflows/flow', first, second, async () => {
      first.disconnect('hold')
      while ((await get(first.url!, '/api/readyz')).status === 200) await pause(50)
      const refused = await post(first.url!, '/api/agents/brief/run', { input: 'Go.' })
      t.equal(refused.status, 503)
      t.ok(refused.headers.has('retry-after'))
      await pause(LEASE.ttl)
      first.connect()
    })
    t.ok(await works(first), 'it has joined again')
  })

  await t.test('a node ends by SIGTERM, and hands its runs over', async (t) => {
    await during(t, 'workflows/flow', first, second, () => first.terminate())
    await first.start()
    t.ok(await works(first))
  })

  await t.test('the database crashes', async (t) => {
    const processes = await during(t, 'workflows/flow', first, second, () => cluster.crashDatabase())
    t.equal(processes, 1, 'one process did all of its steps')
  })

  await t.test('a node whose clock is an hour fast keeps its runs, and takes none', async (t) => {
    const approve = (runId: string) => post(second.url!, `/api/approvals/${runId}.1`, { approved: true })
    const wait = async (node: ClusterNode, other: ClusterNode) => {
      await untilReady(node)
      const runId = await startOn(node.url!, 'workflows/review')
      while ((await get(other.url!, `/api/runs/${runId}`)).body.status !== 'input-required') await pause(20)
      await pause(2 * LEASE.ttl)
      t.equal((await approve(runId)).status, 200)
      const stream = String((await get(other.url!, `/api/runs/${runId}/stream`)).body)
      t.match(stream, /"finishReason":"stop"/)
      const effects = readEffects(cluster.effects).filter(({ key }) => key.startsWith(runId))
      t.same(
        effects.map(({ writer }) => writer),
        [node.writer, node.writer]
      )
    }
    await Promise.all([wait(third, first), wait(first, third)])
  })

  await t.test('a node starts while the database is down, and is there once it is up', async (t) => {
    await first.kill()
    await postgres.pause('fast')
    await first.start()
    t.equal((await get(first.url!, '/api/readyz')).status, 503)
    const refused = await post(first.url!, '/api/agents/brief/run', { input: 'Go.' })
    t.equal(refused.status, 503)
    t.ok(refused.headers.has('retry-after'))
    await postgres.resume()
    for (const node of cluster.nodes) t.ok(await works(node))
  })

  t.same(
    cluster.nodes.flatMap(({ crashes }) => crashes),
    [],
    'no process ended by itself'
  )
})
