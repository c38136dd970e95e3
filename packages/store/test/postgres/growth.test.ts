import { RUNNABLE_KINDS, type SessionKey } from '@svc/registry'
import { storedRun, storedWebhook, textEntry } from '@svc/testing'
import type { Store } from '@svc/store'
import { postgresForTests } from '@tools/postgres'
import t from 'tap'
import { growTables, type Grown } from '../helpers/grown-tables.ts'
import { createNodes } from '../helpers/nodes.ts'

t.setTimeout(240_000)

type Call = (store: Store, grown: Grown) => unknown

const scope = { runnables: [], registry: { id: 'global', kinds: RUNNABLE_KINDS, except: [] } } as const
const ada = { owner: 'ada', scope, limit: 50 }
const keyOf = (number: number): SessionKey => ({
  registry: 'global',
  owner: 'ada',
  kind: 'agent',
  name: 'echo',
  sessionId: `s${number}`
})
const echo = { registry: 'global', kind: 'agent', name: 'echo' } as const
const later = Date.now() + 1_000
const week = Date.now() - 8 * 86_400_000
const completed = { status: 'completed', preview: 'done' } as const
const taskOf = (taskId: string, contextId: string) => ({
  taskId,
  contextId,
  registry: 'global',
  owner: 'ada',
  agentName: 'echo',
  createdAt: 1,
  messages: [{}]
})
const none = { hosts: [], owners: [] }

/** What reads or writes growing tables. */
const CALLS: Record<string, Call> = {
  'list runs': ({ runs }) => runs.list(ada),
  'list runs of a name': ({ runs }) => runs.list({ ...ada, name: 'rare' }),
  'list runs of a name that nobody has': ({ runs }) => runs.list({ ...ada, name: 'nobody' }),
  'list runs of a kind that nobody has': ({ runs }) => runs.list({ ...ada, kind: 'team' }),
  'list runs of a scope without runs': ({ runs }) =>
    runs.list({ ...ada, scope: { runnables: [{ ...echo, registry: 'other' }] } }),
  'list failed runs': ({ runs }) => runs.list({ ...ada, status: 'failed' }),
  'list canceled runs': ({ runs }) => runs.list({ ...ada, status: 'canceled' }),
  'list working runs': ({ runs }) => runs.list({ ...ada, status: 'working' }),
  'list completed runs': ({ runs }) => runs.list({ ...ada, status: 'completed' }),
  'list runs with metadata': ({ runs }) => runs.list({ ...ada, metadata: { key: 'customer', value: 'c18' } }),
  'list runs with metadata that nobody has': ({ runs }) =>
    runs.list({ ...ada, metadata: { key: 'customer', value: 'c' } }),
  'list completed runs with metadata': ({ runs }) =>
    runs.list({ ...ada, status: 'completed', metadata: { key: 'customer', value: 'c18' } }),
  'list failed runs with metadata that nobody has': ({ runs }) =>
    runs.list({ ...ada, status: 'failed', metadata: { key: 'customer', value: 'c' } }),
  'list changed runs': ({ runs }) => runs.list({ ...ada, since: week }),
  'list runs that changed now': ({ runs }) => runs.list({ ...ada, since: later }),
  'list changed runs with metadata that nobody has': ({ runs }) =>
    runs.list({ ...ada, since: week, metadata: { key: 'customer', value: 'c' } }),
  'list runs of all': ({ runs }) => runs.list({ scope, limit: 50 }),
  'list working runs of all': ({ runs }) => runs.list({ scope, limit: 50, status: 'submitted' }),
  'list runs of all of a name that nobody has': ({ runs }) => runs.list({ scope, limit: 50, name: 'nobody' }),
  'list runs of an owner without any': ({ runs }) => runs.list({ ...ada, owner: 'nobody' }),
  'list the changes of an owner': ({ runs }) => runs.listChanged(ada),
  'list the failed of an owner': ({ runs }) => runs.listChanged({ ...ada, status: 'failed' }),
  'list the last change of a session': ({ runs }) => runs.listChanged({ ...ada, sessionId: 's1', limit: 1 }),
  'list the changes of an error': ({ runs }) =>
    runs.listChanged({ ...ada, status: 'failed', errorCode: { is: 'RUN_ERR_OTHER' } }),
  'list the runs of a person': ({ runs }) => runs.listOwned({ owner: 'ada', limit: 50 }),
  'list the unfinished runs of a person': ({ runs }) =>
    runs.listOwned({ owner: 'ada', limit: 50, unfinished: true }),
  'list the runs of a user': ({ runs }) => runs.listOwned({ owner: 'u3', limit: 50, unfinished: true }),
  'list the runs of a session': ({ runs }) => runs.listOwned({ owner: 'ada', session: keyOf(1), limit: 50 }),
  'list inputs': ({ runs }) => runs.listInputs({ owner: 'ada', scope, kinds: ['approval'], limit: 50 }),
  'list inputs of all': ({ runs }) => runs.listInputs({ scope, kinds: ['approval'], limit: 50 }),
  'list inputs of a run': ({ runs }, { finished }) =>
    runs.listInputs({ runId: finished[0]!, kinds: ['approval'], limit: 50 }),
  'list left runs': ({ runs }) => runs.listLeft({ limit: 100 }),
  'find a run': ({ runs }, { finished }) => runs.find(finished[1]!),
  'get a run': ({ runs }, { finished }) => runs.get(finished[1]!),
  'find a started run': ({ runs }) =>
    runs.findStarted({ owner: 'ada', registry: 'global', startKey: { key: 'k11', hash: 'h' } }),
  'read a log': ({ log }, { finished }) => log.read(finished[1]!, 0, { entries: 9, bytes: 9 }),
  'free a start key': ({ runs }, { finished }) => runs.freeStartKey(finished[2]!),
  'cancel a run that is over': ({ runs }, { finished }) => runs.requestCancel(finished[2]!),
  'answer an input': ({ runs }, { finished }) =>
    runs.answerInput(finished[2]!, `${finished[2]!}.1`, { action: 'decline' } as never),
  'find a steering message': ({ runs }) => runs.findSteer('st20'),
  'remove a run': ({ runs }, { finished }) => runs.remove(finished[3]!),
  'a run from start to end': async ({ runs, log, checkpoints, sessionIndex, sessions, tasks }) => {
    const run = storedRun({ sessionId: 's3', createdAt: Date.now(), updatedAt: Date.now() })
    await runs.create(run, 5)
    await tasks.create(taskOf(run.runId, 's3'), run.runId)
    await checkpoints.save(run.runId, 1, {})
    await sessionIndex.enter(keyOf(3), run.runId)
    const end = await sessions.lock(keyOf(3), new AbortController().signal, run.runId)
    await log.append(run.runId, 1, [textEntry(1)], { status: 'working', at: Date.now() })
    await runs.recordStep(run.runId, 1, 'a', 1)
    await sessions.append(keyOf(3), run.runId, [{ role: 'user', content: 'Hello' }], {
      runId: run.runId,
      epoch: 1
    })
    await log.append(run.runId, 1, [textEntry(2)], { ...completed, at: Date.now() })
    end()
  },
  'list sessions': ({ sessionIndex }) => sessionIndex.list(ada),
  'list sessions of a name': ({ sessionIndex }) => sessionIndex.list({ ...ada, name: 'rare' }),
  'list sessions of a name that nobody has': ({ sessionIndex }) =>
    sessionIndex.list({ ...ada, name: 'nobody' }),
  'list sessions of a kind that nobody has': ({ sessionIndex }) =>
    sessionIndex.list({ ...ada, kind: 'team' }),
  'list sessions of a scope without any': ({ sessionIndex }) =>
    sessionIndex.list({ ...ada, scope: { runnables: [{ ...echo, registry: 'other' }] } }),
  'list sessions of an id': ({ sessionIndex }) => sessionIndex.list({ ...ada, sessionId: 's1' }),
  'find a session': ({ sessionIndex }) => sessionIndex.find(keyOf(1)),
  'read messages': ({ sessionIndex }) => sessionIndex.messages(keyOf(7), { limit: 50 }),
  'runs of a session': ({ sessionIndex }) => sessionIndex.runs(keyOf(1), 0, 50),
  'forks of a session': ({ sessionIndex }) => sessionIndex.forks(keyOf(1)),
  'fork a session': ({ sessionIndex }) => sessionIndex.fork(keyOf(1), 'forked'),
  'change a session': ({ sessionIndex }) => sessionIndex.update(keyOf(1), { title: 'New' }),
  'load a session': ({ sessions }) => sessions.load(keyOf(1), 50),
  'keys of an owner': ({ sessions }) => sessions.keys({ owner: 'ada', limit: 50 }),
  'remove a session': ({ sessions }) => sessions.remove(keyOf(2)),
  'conversations of other services': async ({ remoteSessions }) => {
    await remoteSessions.load(keyOf(1), 'remote')
    await remoteSessions.save(keyOf(1), 'remote', { contextId: 'c' })
    await remoteSessions.keys({ owner: 'ada', sessionId: 's1', limit: 50 })
    await remoteSessions.remove(keyOf(1))
  },
  'states of browsers': async ({ browserStates }) => {
    await browserStates!.save(keyOf(1), { cookies: [], origins: [] })
    await browserStates!.load(keyOf(1))
    await browserStates!.keys({ owner: 'ada', sessionId: 's1', limit: 50 })
    await browserStates!.remove(keyOf(1))
  },
  recall: ({ memory }) => memory.search('o40', 'echo', 'number12', 5),
  remember: ({ memory }) =>
    memory.put({ id: 'new', owner: 'o40', namespace: 'echo', text: 'a number', createdAt: Date.now() }),
  'list memories': ({ memory }) => memory.list('ada', 'echo', 50),
  'remove the memories of a session': ({ memory }) => memory.removeSession('ada', 's10', () => true),
  'remove memories of an owner': ({ memory }) => memory.removeOwner('o80', 1_000),
  'list tasks': ({ tasks }) => tasks.list({ owner: 'ada', limit: 50 }),
  'the last task of a context': ({ tasks }) => tasks.lastOfContext(['global'], 'ada', 's1'),
  'get a task': ({ tasks }, { finished }) => tasks.get(finished[4]!),
  'add a message to a task': ({ tasks }, { finished }) => tasks.addMessage(finished[4]!, 'new', {}),
  'pushes of a task': async ({ tasks }, { finished }) => {
    const id = finished[4]!
    await tasks.setPushConfig(id, { id: 'c', url: 'https://example.com/', endpoint: '/other' } as never, 1, 9)
    await tasks.listPushConfigs(id)
    await tasks.holdsPush(id, 'c')
    await tasks.recordPush(id, 'c', null)
    await tasks.removePushConfig(id, 'c')
  },
  'claim pushes': ({ tasks }) => tasks.claimPushes({ endpoint: '/a2a', maxTasks: 5 }),
  'count open pushes': ({ tasks }) => tasks.countOpenPushes('o40'),
  'release pushes': ({ tasks }) => tasks.releasePushes('/a2a'),
  'files of a run': async ({ files }, { finished }) => {
    const id = finished[5]!
    const content = (async function* () {
      yield Buffer.from('content')
    })()
    const { fileId } = await files.put(id, { mimeType: 'text/plain', content } as never)
    await files.get(id, fileId)
    await files.remove([id])
  },
  'webhooks of an owner': async ({ webhooks }) => {
    const webhook = storedWebhook({ owner: 'o40' })
    await webhooks.create(webhook, 1e6)
    await webhooks.get(webhook.webhookId)
    await webhooks.list({ owner: 'o40', limit: 50 })
    await webhooks.list({ limit: 50 })
    await webhooks.change(webhook.webhookId, { url: 'https://two.example/' }, 1)
    await webhooks.remove(webhook.webhookId)
  },
  'webhooks of a run': ({ webhooks }, { finished }) => webhooks.removeRun(finished[5]!),
  'claim messages': ({ webhooks }) =>
    webhooks.claim({ now: Date.now(), until: later, limit: 10, busy: none }),
  'the next message': ({ webhooks }) => webhooks.nextAt(none),
  'list messages of an owner': ({ webhooks }) => webhooks.listDeliveries({ owner: 'o40', limit: 50 }),
  'list dead messages': ({ webhooks }) => webhooks.listDeliveries({ owner: 'o40', state: 'dead', limit: 50 }),
  'list pending messages': ({ webhooks }) =>
    webhooks.listDeliveries({ owner: 'o40', state: 'pending', limit: 50 }),
  'list messages of a registry without any': ({ webhooks }) =>
    webhooks.listDeliveries({ registries: ['other'], limit: 50 }),
  'list dead messages of a registry without any': ({ webhooks }) =>
    webhooks.listDeliveries({ registries: ['other'], state: 'dead', limit: 50 }),
  schedules: async ({ schedules }) => {
    await schedules.get('sch40')
    await schedules.list({ owner: 'o40', limit: 50 })
    await schedules.list({ limit: 50 })
    await schedules.nextAt([echo])
    await schedules.listDue({ runnables: [echo], now: Date.now(), limit: 50 })
    await schedules.markOverdue(Date.now() - 1_000, 'X')
  },
  'the queue': async ({ queue }) => {
    await queue.isWaiting()
    await queue.next({ runnables: [echo], perOwner: 5, unlimited: '' })
  },
  check: (store) => store.check(),
  sweep: async ({ runs, sessions, memory, schedules, webhooks }) => {
    await runs.sweep(Date.now())
    await sessions.sweep(Date.now())
    await memory.sweep(Date.now())
    await schedules.sweep(Date.now())
    await webhooks.sweep(Date.now())
  }
}
const KEPT = 7_000_000_000
const retention = {
  maxRuns: 1e9,
  maxBytes: 1e15,
  maxAge: KEPT,
  sessionMaxAge: KEPT,
  memoryMaxAge: KEPT,
  fileMaxBytes: 1e15
}
// Blocks of 8 KiB that a call may read, whatever the tables have: a page of 50 rows takes some 5 each.
const MAX_BLOCKS = 550
// A page that looks at 2,000 rows of runs beside their index, and sweeps, which look at some thousands of rows; lists that find nothing.
const OTHER_BLOCKS: Readonly<Record<string, number>> = {
  // With what a new connection reads of the catalog.
  'a run from start to end': 1_500,
  'list the changes of an error': 12_000,
  'list runs of a name that nobody has': 20,
  'list runs with metadata that nobody has': 20,
  'list failed runs with metadata that nobody has': 20,
  'list changed runs with metadata that nobody has': 20,
  'list sessions of a name that nobody has': 30,
  'list sessions of a kind that nobody has': 30,
  'list sessions of a scope without any': 30,
  'list waiting runs with their positions': 1_500,
  sweep: 20_000,
  'list messages of a registry without any': 20,
  'list dead messages of a registry without any': 20
}
// Reading all of a smaller table may be the faster way.
const SCANS = `select relname as name, seq_scan::int as scans from pg_stat_user_tables
  where schemaname = $1 and n_live_tup > 25000 order by relname`

const settings = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.max': 10_000,
  shared_buffers: '256MB',
  autovacuum: 'off'
}
const url = process.env['TEST_PG_URL'] === undefined ? await postgresForTests(t, { settings }) : undefined

t.test('200,000 runs', { skip: url === undefined && 'no Postgres of its own runs here' }, async (t) => {
  const { admin, schema, open } = await createNodes(t, url!)
  await admin.query('create extension pg_stat_statements')
  const openStore = () => open({ retention, stateKey: 'ab'.repeat(32) })
  // A connection reports what it has read when it ends.
  const close = async (store: Store) => {
    await store.close()
    const others = 'select from pg_stat_activity where backend_type = $1 and pid <> pg_backend_pid()'
    while ((await admin.query(others, ['client backend'])).rowCount! > 0);
  }
  const first = await openStore()
  const grown = await growTables(admin, schema, 200_000)
  await admin.query('vacuum analyze')
  // What is counted once and kept.
  await first.runs.sweep(Date.now())
  await close(first)
  await admin.query('select pg_stat_force_next_flush()')
  const before = (await admin.query<{ name: string; scans: number }>(SCANS, [schema])).rows
  const store = await openStore()

  const readsFew = (name: string, call: Call) =>
    t.test(`${name} reads few blocks, whatever the tables have`, async (t) => {
      await admin.query('select pg_stat_statements_reset()')
      await call(store, grown)
      const { rows } = await admin.query<{ blocks: number; query: string }>(
        `select (shared_blks_hit + shared_blks_read)::int as blocks, query from pg_stat_statements
          where query !~ 'pg_stat' order by 1 desc`
      )
      const blocks = rows.reduce((sum, row) => sum + row.blocks, 0)
      t.ok(
        blocks <= (OTHER_BLOCKS[name] ?? MAX_BLOCKS),
        `${blocks}, of which ${rows[0]?.blocks} for ${rows[0]?.query}`
      )
    })
  for (const [name, call] of Object.entries(CALLS)) await readsFew(name, call)

  await admin.query(
    `insert into ${schema}.run (run_id, registry, kind, name, session_id, owner, created_at, updated_at, status, epoch, bytes, queued_at)
     select 'q' || n, 'global', 'agent', 'echo', 's', 'waits', n, n, 'submitted', 0, 0, n from generate_series(10001, 30000) n`
  )
  await admin.query('analyze')
  await readsFew('find the last of 20,000 waiting runs', async ({ runs }) => {
    t.equal((await runs.find('q30000'))?.queuePosition, 20_000)
  })
  await readsFew('list waiting runs with their positions', ({ runs }) =>
    runs.list({ owner: 'waits', scope, status: 'submitted', limit: 50 })
  )

  await t.test('no statement reads a growing table from its beginning to its end', async (t) => {
    await close(store)
    const after = new Map(
      (await admin.query<{ name: string; scans: number }>(SCANS, [schema])).rows.map(({ name, scans }) => [
        name,
        scans
      ])
    )
    for (const { name, scans } of before) t.equal(after.get(name), scans, name)
    t.ok(before.length > 8, String(before.length))
  })
})
