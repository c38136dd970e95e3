import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import t from 'tap'
import { onPostgres, randomSchema } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'
import type { SkewedReport } from '../helpers/skewed-node.ts'

t.setTimeout(120_000)

const program = fileURLToPath(new URL('../helpers/skewed-node.ts', import.meta.url))

await onPostgres(t, async (t, _open, url) => {
  const { schema, admin, open } = await createNodes(t, url)

  /** The address of a node whose connections can be told from those of others. */
  const named = () => {
    const name = `slow ${randomSchema()}`
    const own = new URL(url)
    own.searchParams.set('application_name', name)
    /** The process of the server that has a connection of the node which shows that it lives. */
    const find = async (which: 'lease' | 'channel') => {
      const { rows } = await admin.query<{ pid: number }>(
        `select l.pid from pg_locks l join pg_stat_activity a using (pid)
          where a.application_name = $1 and l.locktype = 'advisory' and l.granted
            and case $2 when 'lease' then a.query like '%set seen_at%' else l.mode = 'ExclusiveLock' end`,
        [name, which]
      )
      return rows[0]?.pid
    }
    return { name, url: own.href, find }
  }

  await t.test(
    'a process that is slow to replace connections which the server has closed is not dead',
    async (t) => {
      // So long that it does not run out.
      const lease = { ttl: 600_000, beat: 200 }
      const judge = await open({ lease })
      const own = named()
      const slow = fork(program, [own.url, schema, JSON.stringify(lease)], {
        execArgv: ['--conditions=@svc/source']
      })
      t.teardown(() => slow.kill('SIGKILL'))
      await once(slow, 'message')
      const seen = async () => {
        const { rows } = await admin.query<{ at: Date; silent: number; nodes: number }>(
          `select max(seen_at) as at, extract(epoch from clock_timestamp() - min(seen_at))::float8 as silent, count(*)::int as nodes from ${schema}.node`
        )
        return rows[0]!
      }
      let channel: number | undefined
      while ((await own.find('lease')) === undefined) await pause(20)
      while ((channel = await own.find('channel')) === undefined) await pause(20)
      slow.kill('SIGSTOP')
      const leased = await own.find('lease')
      for (const pid of [channel, leased]) await admin.query('select pg_terminate_backend($1)', [pid])
      for (let now = await seen(); now.nodes === 2 && now.silent < 3; now = await seen()) await pause(50)
      // The judge has looked at it meanwhile.
      for (let beat = 0; beat < 5; beat++) {
        const { at } = await seen()
        while ((await seen()).at <= at) await pause(20)
      }
      t.equal((await seen()).nodes, 2)
      t.same((await judge.runs.listLeft({ limit: 9 })).runs, [])
      slow.kill('SIGCONT')
      slow.send('report')
      const [report] = (await once(slow, 'message')) as [SkewedReport]
      t.match(report, { timesLost: 0, left: 0 })
    }
  )

  await t.test('a lease whose connection the server has closed has another one at once', async (t) => {
    const own = named()
    const store = await open({ url: own.url, lease: { ttl: 600_000, beat: 200_000 } })
    await store.lease!.whenHeld(new AbortController().signal)
    const before = await own.find('lease')
    await admin.query('select pg_terminate_backend($1)', [before])
    let after: number | undefined
    while ((after = await own.find('lease')) === undefined || after === before) await pause(20)
    t.not(after, before)
    t.equal(store.lease!.held, true)
  })

  await t.test('an answer that arrives while the process is busy is not late', async (t) => {
    const own = named()
    const ttl = 20_000
    const store = await open({ url: own.url, lease: { ttl, beat: 100 } })
    await store.lease!.whenHeld(new AbortController().signal)
    const before = await own.find('lease')
    const locking = new Client(url)
    await locking.connect()
    t.teardown(() => locking.end())
    const waiting = `select from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'`
    for (let isInTime = false; !isInTime;) {
      await locking.query('begin')
      const begun = performance.now()
      await locking.query(`select from ${schema}.node for update`)
      while ((await admin.query(waiting, [own.name])).rowCount === 0) await pause(10)
      const committed = locking.query('commit')
      // Otherwise the machine is so slow that the contact may have failed before.
      isInTime = performance.now() - begun < ttl / 8
      if (isInTime) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ttl / 4)
      await committed
    }
    const { rows } = await admin.query<{ at: Date }>(`select clock_timestamp() as at`)
    const seenSince = `select from ${schema}.node where seen_at > $1`
    while ((await admin.query(seenSince, [rows[0]!.at])).rowCount === 0) await pause(20)
    t.equal(await own.find('lease'), before, 'it needs no other connection')
  })
})
