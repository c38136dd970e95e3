import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionKey } from '@svc/registry'
import { sessionKeyText } from '@svc/contract'
import { codeOf, storedRun, textEntry } from '@svc/testing'
import { Client } from 'pg'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

const RACES = 100
const all = { entries: 9, bytes: 9_000 }
const key: SessionKey = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' }
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
    let holders = 0
    let most = 0
    const turns = Array.from({ length: RACES }, async (_, turn) => {
      const { sessions } = nodes[turn % 2]!
      const aborted = turn % 7 === 0 ? AbortSignal.timeout(turn) : never
      const release = await (async () => sessions.lock(key, aborted))().catch((err: unknown) => {
        if (err !== aborted.reason) throw err
        return undefined
      })
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

  /**
   * Begins a write of the first node that finds its epoch valid and then waits for an open transaction with this insertion; meanwhile the
   * second node takes the run. Resolves with what it reads then.
   */
  const takeDuring = async <T>(runId: string, write: () => unknown, insertion: string, read: () => T) => {
    const slow = new Client(url)
    await slow.connect()
    await slow.query('begin')
    await slow.query(insertion)
    const written = (async () => write())()
    const isWaiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%${schema}%'`
    while ((await admin.query(isWaiting)).rows.length === 0) await sleep(10)
    await admin.query(
      `delete from ${schema}.node where node_id = (select node_id from ${schema}.run where run_id = $1)`,
      [runId]
    )
    const taken = (async () => second.runs.lease(runId))().then(read)
    await Promise.race([taken, sleep(300)])
    await slow.query('rollback')
    await slow.end()
    await written
    return await taken
  }

  await t.test(
    'an append that is being written when its run is taken is part of what is taken',
    async (t) => {
      const { runId } = storedRun()
      await first.runs.create(storedRun({ runId }))
      await first.log.append(runId, 1, [textEntry(1)])
      const read = await takeDuring(
        runId,
        () => first.log.append(runId, 1, [textEntry(2)]),
        `insert into ${schema}.run_part (run_id, seq, json) values ('${runId}', 2, '{}')`,
        async () => second.log.read(runId, 0, all)
      )
      t.equal(read.length, 2)
    }
  )

  await t.test('a turn that is being saved when its run is taken is seen by the next', async (t) => {
    const { runId } = storedRun()
    const other = { ...key, sessionId: 'saved' }
    await first.runs.create(storedRun({ runId }))
    const message = { role: 'user', content: 'a' } as const
    const read = await takeDuring(
      runId,
      () => first.sessions.append(other, 'turn', [message], { runId, epoch: 1 }),
      `insert into ${schema}.session (session_key, registry, owner, kind, name, session_id, created_at, updated_at, last_seq)
       values ('${sessionKeyText(other)}', 'global', 'ada', 'agent', 'echo', 'saved', 1, 1, 1)`,
      async () => second.sessions.load(other, 9)
    )
    t.same(read, [message])
  })

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
