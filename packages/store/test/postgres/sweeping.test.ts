import { createStore, type Store } from '@svc/store'
import { storedRun, textEntry } from '@svc/testing'
import { startProxy } from '@tools/postgres'
import { Client } from 'pg'
import t from 'tap'
import { onPostgres, randomSchema } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

t.setTimeout(120_000)

const completed = { status: 'completed', at: 3 } as const

async function addEnded({ runs, log }: Store): Promise<string> {
  const { runId } = storedRun()
  await runs.create(storedRun({ runId }))
  await log.append(runId, 1, [textEntry(1)], completed)
  return runId
}

/** A URL whose connections have a name of their own, and how many of them have a transaction open without a statement. */
function named(url: string, admin: Client) {
  const name = `sweeper ${randomSchema()}`
  const own = new URL(url)
  own.searchParams.set('application_name', name)
  return {
    url: own.href,
    async idling(): Promise<number> {
      const { rows } = await admin.query<{ count: number }>(
        `select count(*)::int from pg_stat_activity where application_name = $1 and state like 'idle in transaction%'`,
        [name]
      )
      return rows[0]!.count
    }
  }
}

/** What is sent on each connection of this process while `work` goes on, in order. */
async function recordSent(work: () => Promise<unknown>): Promise<string[][]> {
  const sent = new Map<Client, string[]>()
  const { query } = Client.prototype
  Client.prototype.query = function (this: Client, ...args: unknown[]) {
    const [asked] = args as [string | { text: string }]
    const texts = sent.get(this) ?? []
    sent.set(this, texts)
    texts.push(typeof asked === 'string' ? asked : asked.text)
    return Reflect.apply(query, this, args)
  } as typeof query
  try {
    await work()
  } finally {
    Client.prototype.query = query
  }
  return [...sent.values()]
}

await onPostgres(t, async (t, _open, url) => {
  const { open, admin, schema } = await createNodes(t, url)
  const own = named(url, admin)
  const retention = { maxAge: 0 }
  const one = await open({ url: own.url, retention })
  const other = await open({ retention })
  const claims = async () => {
    const text = `select token from ${schema}.writer where writer_id = 'sweep runs'`
    return (await admin.query<{ token: string }>(text)).rows.map(({ token }) => token)
  }
  /** A sweep that waits before it removes something, until `goesOn`. */
  const sweepSlowly = async () => {
    const begun = Promise.withResolvers<void>()
    const goesOn = Promise.withResolvers<void>()
    const unlisten = one.runs.onRemove!(async () => {
      begun.resolve()
      await goesOn.promise
    })
    const removed = Promise.resolve(one.runs.sweep(Date.now())).finally(unlisten)
    await begun.promise
    return { removed, goesOn: goesOn.resolve }
  }

  await t.test(
    'a sweep that waits has no transaction open, and no other process sweeps meanwhile',
    async (t) => {
      await addEnded(one)
      const { removed, goesOn } = await sweepSlowly()
      t.equal(await own.idling(), 0)
      t.equal(await other.runs.sweep(Date.now()), 0)
      goesOn()
      t.equal(await removed, 1)
      t.same(await claims(), [''], 'the next process may sweep')
      await addEnded(other)
      t.equal(await other.runs.sweep(Date.now()), 1)
    }
  )

  await t.test(
    'a sweep whose process has not renewed its claim for a minute is left to others',
    async (t) => {
      await addEnded(one)
      const claim = (at: string) =>
        admin.query(
          `update ${schema}.writer set token = 'gone', seen_at = clock_timestamp() ${at} where writer_id = 'sweep runs'`
        )
      await claim(`+ interval '1 hour'`)
      t.equal(await other.runs.sweep(Date.now()), 0)
      await claim(`- interval '61 seconds'`)
      t.equal(await other.runs.sweep(Date.now()), 1)
    }
  )

  await t.test('a sweep that another process has taken over removes nothing more', async (t) => {
    const runId = await addEnded(one)
    const { removed, goesOn } = await sweepSlowly()
    await admin.query(`update ${schema}.writer set token = 'other' where writer_id = 'sweep runs'`)
    goesOn()
    t.equal(await removed, 0)
    t.equal((await one.runs.find(runId))?.status, 'completed')
    t.same(await claims(), ['other'], 'nor does it end the claim of the other')
    await admin.query(`update ${schema}.writer set token = '' where writer_id = 'sweep runs'`)
    t.equal(await one.runs.sweep(Date.now()), 1)
  })

  await t.test('sweeps forget the writers of processes that are gone', async (t) => {
    await admin.query(
      `insert into ${schema}.writer values ('gone', 'x', clock_timestamp() - interval '25 hours')`
    )
    await one.runs.sweep(Date.now())
    t.equal((await admin.query(`select from ${schema}.writer where writer_id = 'gone'`)).rowCount, 0)
  })

  await t.test('each transaction that a node begins ends if its process stands still', async (t) => {
    const schema = randomSchema()
    const sent = await recordSent(async () => {
      const store = await createStore({ url, schema, retention })
      const runId = await addEnded(store)
      await Promise.all([addEnded(store), store.checkpoints.remove(runId)])
      await store.runs.sweep(Date.now())
      await store.sessions.sweep(Date.now())
      await store.check?.()
      await store.close()
    })
    await admin.query(`drop schema ${schema} cascade`)
    let begun = 0
    for (const texts of sent)
      for (const [index, text] of texts.entries()) {
        if (!/^\s*(?:begin|start transaction)\b/i.test(text)) continue
        begun++
        const isLimited = [text, texts[index + 1] ?? ''].some((each) =>
          each.includes('set local idle_in_transaction_session_timeout')
        )
        const isLane = texts
          .slice(0, index)
          .some((each) => each.includes('; set idle_in_transaction_session_timeout'))
        t.ok(isLimited || isLane, text)
      }
    t.ok(begun > 3)
  })

  await t.test(
    'a process that stands still while it looks for a failover does not keep others out',
    async (t) => {
      const proxy = await startProxy(url)
      t.teardown(() => proxy.close())
      proxy.holdAnswers(`svc failover ${schema}`)
      const opened = open({ url: proxy.url, lease: { ttl: 600_000, beat: 100_000 } })
      await proxy.held()
      const next = await open()
      await next.lease!.whenHeld(new AbortController().signal)
      t.equal(next.lease!.held, true)
      proxy.pass()
      await opened
    }
  )
})
