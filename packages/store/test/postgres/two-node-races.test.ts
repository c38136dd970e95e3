import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionKey } from '@svc/registry'
import { codeOf, storedRun, textEntry } from '@svc/registry/testing'
import { Client } from 'pg'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

const RACES = 100
const all = { entries: 9, bytes: 9_000 }
const never = new AbortController().signal
const completed = { status: 'completed', at: 3 } as const

await onPostgres(t, async (t, _open, url) => {
  const { schema, admin, open } = await createNodes(t, url)
  const [first, second] = [await open(), await open()]
  const nodes = [first, second]

  await t.test('starts with the same key', async (t) => {
    for (let race = 0; race < RACES; race++) {
      const runs = nodes.map(() => storedRun({ startKey: { key: `k${race}`, hash: 'h' } }))
      const earlier = await Promise.all(nodes.map(async (node, index) => node.runs.create(runs[index]!)))
      const winner = earlier.indexOf(undefined)
      t.equal(earlier[1 - winner]?.runId, runs[winner]?.runId)
    }
  })

  await t.test('turns of one session', async (t) => {
    const key: SessionKey = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' }
    let holders = 0
    let most = 0
    const turns = Array.from({ length: RACES }, async (_, turn) => {
      const { sessions } = nodes[turn % 2]!
      const aborted = turn % 7 === 0 ? AbortSignal.timeout(turn) : never
      const release = await (async () => sessions.lock(key, aborted))().catch(() => undefined)
      if (release === undefined) return
      most = Math.max(most, ++holders)
      await sessions.load(key, 1)
      holders--
      release()
    })
    await Promise.all(turns)
    t.equal(most, 1)
    const last = await first.sessions.lock(key, never)
    last()
  })

  await t.test(
    'an append that is being written when its run is taken is part of what was taken',
    async (t) => {
      const { runId } = storedRun()
      await first.runs.create(storedRun({ runId }))
      await first.log.append(runId, 1, [textEntry(1)])
      const slow = new Client(url)
      await slow.connect()
      // The append waits for this transaction, after it found its epoch valid.
      await slow.query('begin')
      await slow.query(`insert into ${schema}.run_part (run_id, seq, json) values ($1, 2, '{}')`, [runId])
      const appended = (async () => first.log.append(runId, 1, [textEntry(2)]))()
      const isWaiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%run_part%'`
      while ((await admin.query(isWaiting)).rows.length === 0) await sleep(10)
      await admin.query(
        `delete from ${schema}.node where node_id = (select node_id from ${schema}.run where run_id = $1)`,
        [runId]
      )
      const taken = (async () => second.runs.lease(runId))().then(async () => second.log.read(runId, 0, all))
      await Promise.race([taken, sleep(300)])
      await slow.query('rollback')
      await slow.end()
      await appended
      t.equal((await taken).length, 2)
    }
  )

  await t.test('leases of a run that was released, and writes of its earlier node', async (t) => {
    for (let race = 0; race < RACES / 4; race++) {
      const { runId } = storedRun()
      await first.runs.create(storedRun({ runId }))
      await first.log.append(runId, 1, [textEntry(1)])
      const late = (async () => codeOf(() => first.log.append(runId, 1, [textEntry(2)], completed)))()
      await first.lease!.release(runId)
      const epoch = await second.runs.lease(runId)
      const ended = await late
      const parts = (await second.log.read(runId, 0, all)).length
      const isEndedBefore = ended === 'none' && epoch === undefined && parts === 2
      const isFenced = ended === 'RUN_ERR_FENCED' && epoch === 2 && parts === 1
      t.ok(isEndedBefore || isFenced, JSON.stringify({ ended, epoch, parts }))
    }
  })
})
