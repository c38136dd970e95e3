import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { RunLog } from '@svc/registry'
import { codeOf, storedRun, textEntry } from '@svc/testing'
import { startPostgres, startProxy, type Postgres } from '@tools/postgres'
import { createStore, type Store } from '@svc/store'
import { Client } from 'pg'
import t, { type Test } from 'tap'

const MIGRATIONS = readdirSync(new URL('../../src/postgres/migrations', import.meta.url))
  .flatMap((file) => /^\d{4}-.*(?=\.ts$)/.exec(file) ?? [])
  .toSorted()

const CONNECTIONS = 12
const settings = { max_connections: CONNECTIONS, superuser_reserved_connections: 0 }
const server = await startPostgres({ settings }).catch((err: Error) => err)

const item = (id: string) => ({ owner: 'o', namespace: 'n', id, text: 'tea', createdAt: 1 })

/** A connection past the store. */
async function connect(t: Test, url: string): Promise<Client> {
  const client = new Client(url)
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end())
  return client
}

/** Waits until the store works again, without a restart. */
async function untilItWorks(store: Store): Promise<void> {
  while ((await codeOf(() => store.check())) !== 'none') await pause(50)
}

function urlOf({ url }: Postgres, change: (url: URL) => void): string {
  const parsed = new URL(url)
  change(parsed)
  return parsed.href
}

/** A log, and the codes of the errors in it. */
function createLog() {
  const codes: (string | undefined)[] = []
  const log: Pick<RunLog, 'error'> = {
    error: (details) => void codes.push(/STO_ERR_\w+/.exec(JSON.stringify(details))?.[0])
  }
  return { codes, log }
}

t.setTimeout(120_000)

t.test('without the driver', async (t) => {
  const script = new URL('../helpers/without-pg.ts', import.meta.url).pathname
  const output = execFileSync(process.execPath, ['--conditions=@svc/source', script], { encoding: 'utf8' })
  t.match(output, /^STO_ERR_DRIVER_MISSING .*npm install pg/)
})

t.test('servers', { skip: server instanceof Error && server.message }, async (t) => {
  if (server instanceof Error) return
  const { url } = server
  t.teardown(() => server.stop())

  await t.test('a server that is away at the start is used once it answers', async (t) => {
    await server.pause('fast')
    const { codes, log } = createLog()
    const store = await createStore({ url, schema: 'late' }, log)
    t.teardown(() => store.close())
    t.same(codes, ['STO_ERR_UNREACHABLE'])
    const started = performance.now()
    for (const call of [
      () => store.check(),
      () => store.memory.put(item('a')),
      () => store.runs.list({ limit: 1 }),
      () => store.files.put('r', { mimeType: 'a/b', content: Buffer.from('a') })
    ])
      t.equal(await codeOf(call), 'STO_ERR_UNREACHABLE')
    t.ok(performance.now() - started < 4_000, 'refused at once, not after the time of each')
    await server.resume()
    await untilItWorks(store)
    await store.memory.put(item('a'))
    t.equal((await store.memory.list('o', 'n', 9)).length, 1)
  })

  await t.test('a server that restarts costs a reader and a writer only time', async (t) => {
    const store = await createStore({ url, schema: 'late' })
    t.teardown(() => store.close())
    const restarting = server.restart('immediate')
    await Promise.all([
      restarting,
      ...Array.from({ length: 20 }, (_, at) => store.memory.put(item(`${at}`))),
      ...Array.from({ length: 20 }, () => store.runs.list({ limit: 1 }))
    ])
    t.equal((await store.memory.list('o', 'n', 99)).length, 21)
  })

  await t.test(
    'a write of which only the answer was lost is committed once, with its first result',
    async (t) => {
      const proxy = await startProxy(url)
      const store = await createStore({ url: proxy.url, schema: 'late' })
      t.teardown(async () => {
        await store.close()
        await proxy.close()
      })
      const task = { taskId: 'r', contextId: 'c', registry: 'g', owner: 'o', agentName: 'a', createdAt: 1 }
      await store.tasks.create({ ...task, messages: ['first'] }, 'm')
      for (const [at, lost] of ['commit', 'insert into'].entries()) {
        proxy.loseAnswers(lost)
        const added = store.tasks.addMessage('r', `m${at}`, 'next')
        await proxy.lost()
        proxy.pass()
        t.equal(await added, true, lost)
        t.equal((await store.tasks.get('r'))?.messages.length, at + 2)
      }
      t.equal(await store.tasks.addMessage('r', 'm0', 'again'), false)
    }
  )

  await t.test('a server without connections is used once it has some', async (t) => {
    const admin = await connect(t, url)
    const held: Client[] = []
    for (;;) {
      const client = new Client(url)
      client.on('error', () => {})
      const isConnected = await client.connect().then(
        () => true,
        () => false
      )
      if (!isConnected) break
      held.push(client)
    }
    const { codes, log } = createLog()
    const store = await createStore({ url, schema: 'crowded', pool: 2 }, log)
    t.teardown(() => store.close())
    t.same(codes, ['STO_ERR_CONNECTIONS'])
    t.equal(await codeOf(() => store.check()), 'STO_ERR_CONNECTIONS')
    for (const client of held) await client.end()
    await untilItWorks(store)
    t.ok(await admin.query('select 1'))
  })

  await t.test(
    'more nodes than the server has connections for: some serve, the others do once these are gone',
    async (t) => {
      const admin = await connect(t, url)
      const options = { url, schema: 'many_nodes', pool: 2 }
      const connections = async () => {
        const { rows } = await admin.query<{ count: number }>(
          `select count(*)::int from pg_stat_activity where application_name = 'svc-store'`
        )
        return rows[0]!.count
      }
      const first = await createStore(options)
      const runs = Array.from({ length: 20 }, () => storedRun())
      await Promise.all(runs.map(async (run) => first.runs.create(run)))
      await Promise.all(runs.map(async ({ runId }) => first.runs.find(runId)))
      const most = await connections()
      t.ok(most <= options.pool + 3, `${most} connections of a node`)
      const { codes, log } = createLog()
      const others = await Promise.all(Array.from({ length: 7 }, () => createStore(options, log)))
      t.teardown(async () => {
        for (const store of [first, ...others]) await store.close()
      })
      t.ok(codes.length > 0 && codes.every((code) => code === 'STO_ERR_CONNECTIONS'), String(codes))
      await Promise.all(runs.map(async ({ runId }) => first.log.append(runId, 1, [textEntry(1)])))
      const last = others.pop()!
      for (const store of [first, ...others]) await store.close()
      await untilItWorks(last)
      for (const { runId } of runs)
        t.equal((await last.log.read(runId, 0, { entries: 9, bytes: 999 })).length, 1)
      t.equal((await last.runs.listLeft({ limit: 99 })).runs.length, runs.length, 'no run is lost')
    }
  )

  await t.test('a database that becomes read-only refuses writes until it no longer is', async (t) => {
    const admin = await connect(t, url)
    const setReadOnly = async (to: 'on' | 'off') => {
      await admin.query(`alter system set default_transaction_read_only = ${to}`)
      await admin.query('select pg_reload_conf()')
      await pause(200)
    }
    await admin.query('set default_transaction_read_only = off')
    const store = await createStore({ url, schema: 'replica', outage: 500 })
    t.teardown(() => store.close())
    const run = storedRun()
    await store.runs.create(run)
    await setReadOnly('on')
    t.equal(await codeOf(() => store.check()), 'STO_ERR_READ_ONLY')
    t.equal(await codeOf(() => store.memory.put(item('a'))), 'STO_ERR_READ_ONLY')
    t.equal(await codeOf(() => store.log.append(run.runId, 1, [textEntry(1)])), 'STO_ERR_READ_ONLY')
    t.equal((await store.runs.find(run.runId))?.status, 'submitted', 'reads go on')
    await setReadOnly('off')
    await untilItWorks(store)
    await store.memory.put(item('a'))
  })

  await t.test('a full disk refuses writes, and loses nothing', async (t) => {
    const admin = await connect(t, url)
    const store = await createStore({ url, schema: 'full_disk' })
    t.teardown(() => store.close())
    const run = storedRun()
    await store.runs.create(run)
    await admin.query(`
      set search_path = full_disk;
      create function fail() returns trigger language plpgsql as
        $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
      create trigger full_part before insert on run_part for each row execute function fail();
      create trigger full_item before insert on memory_item for each row execute function fail();
      create trigger full_chunk before insert on file_chunk for each row execute function fail()`)
    t.equal(await codeOf(() => store.memory.put(item('a'))), 'STO_ERR_FULL')
    t.equal(
      await codeOf(() => store.files.put('r', { mimeType: 'a/b', content: Buffer.from('a') })),
      'STO_ERR_FULL'
    )
    t.equal(await codeOf(() => store.log.append(run.runId, 1, [textEntry(1)])), 'STO_ERR_FULL')
    t.equal(await codeOf(() => store.check()), 'STO_ERR_FULL')
    await admin.query('drop function fail cascade')
    await store.check()
    await store.log.append(run.runId, 1, [textEntry(1)])
    t.equal((await store.log.read(run.runId, 0, { entries: 9, bytes: 9_999 })).length, 1)
  })

  await t.test('schemas of a newer version and of others are left alone', async (t) => {
    const admin = await connect(t, url)
    const open = (schema: string) => codeOf(async () => (await createStore({ url, schema })).close())
    t.equal(await open('newer'), 'none')
    const running = await createStore({ url, schema: 'newer' })
    t.teardown(() => running.close())
    await admin.query(`insert into newer.svc_migration values ('9999-later', now()::text)`)
    t.equal(await open('newer'), 'STO_ERR_NEWER_SCHEMA')
    await running.memory.put(item('a'))
    await running.check()

    await admin.query(
      'create schema taken; create table taken.run (id int); insert into taken.run values (1)'
    )
    t.equal(await open('taken'), 'STO_ERR_OTHER_TABLES')
    t.same((await admin.query('select * from taken.run')).rows, [{ id: 1 }])

    // Another program's migrations by kysely.
    await admin.query('create schema beside; create table beside.kysely_migration (name text)')
    t.equal(await open('beside'), 'none')
  })

  await t.test('a user without permissions, a wrong database and a wrong password are named', async (t) => {
    const admin = await connect(t, url)
    await admin.query('create role guest login')
    const codeAt = (change: (url: URL) => void) =>
      codeOf(async () => (await createStore({ url: urlOf(server, change), schema: 'guests' })).close())
    t.equal(await codeAt((to) => (to.username = 'guest')), 'STO_ERR_PERMISSION')
    t.equal(await codeAt((to) => (to.pathname = '/absent')), 'STO_ERR_OPEN')
    t.equal(
      await codeAt((to) => Object.assign(to, { username: 'absent', password: 'secret' })),
      'STO_ERR_OPEN'
    )
  })

  await t.test('many processes may start at once on a new schema', async (t) => {
    const opened = await Promise.all(
      Array.from({ length: 3 }, () => createStore({ url, schema: 'at_once', pool: 2 }))
    )
    for (const store of opened) await store.close()
    const admin = await connect(t, url)
    const { rows } = await admin.query<{ name: string }>(
      'select name from at_once.svc_migration order by name'
    )
    t.strictSame(
      rows.map(({ name }) => name),
      MIGRATIONS,
      'each migration is applied once'
    )
  })
})
