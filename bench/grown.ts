import { setTimeout as pause } from 'node:timers/promises'
import { createStore } from '@svc/store'
import { COUNTED, COUNTS_SETTLE, ServerLoad, startPostgres } from '@tools/postgres'
import { Client } from 'pg'
import { startServer, type ServerProcess } from './server-process.ts'

const FEW = 1_000
const MANY = 1_000_000
const TURNS = 10
const REQUESTS = 20
const OWNER = 'ada'

/** What a request costs Postgres. */
interface Cost {
  readonly blocks: number
  /** Milliseconds. */
  readonly time: number
}

/** The requests, by what they do. */
const ASK: Readonly<Record<string, (url: string) => Promise<Response>>> = {
  'the newest runs': (url) => fetch(`${url}/api/runs`),
  'runs of a name that nobody has': (url) => fetch(`${url}/api/runs?name=nobody`),
  'runs with metadata that none has': (url) => fetch(`${url}/api/runs?metadata[customer]=nobody`),
  'failed runs': (url) => fetch(`${url}/api/runs?status=failed`),
  'runs that changed today': (url) =>
    fetch(`${url}/api/runs?since=${new Date(Date.now() - 86_400_000).toISOString()}`),
  'the last changed sessions': (url) => fetch(`${url}/api/sessions`),
  'sessions of a name that nobody has': (url) => fetch(`${url}/api/sessions?name=nobody`),
  'a session with its newest messages': (url) => fetch(`${url}/api/sessions/agent/quick/s7`),
  'a run with its session': (url) =>
    fetch(`${url}/api/agents/quick/run`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ input: 'Hello', sessionId: 's8' })
    })
}

/** Shows what requests cost Postgres once it has many runs and sessions, in blocks that it reads and in its time. */
export async function report(): Promise<void> {
  console.log(
    `\n${count(MANY)} runs and ${count(MANY / TURNS)} sessions on Postgres, beside ${count(FEW)} runs\n`
  )
  const server = await startPostgres({ settings: { ...COUNTED, shared_buffers: '512MB' } }).catch(
    (err: Error) => err
  )
  if (server instanceof Error) return console.log(`not measured: ${server.message}`)
  try {
    const few = await measure(server.url, FEW)
    const many = await measure(server.url, MANY)
    for (const [what, { blocks, time }] of Object.entries(many.costs)) {
      const before = few.costs[what]!
      const ratio = blocks / before.blocks
      const figures = `${before.blocks.toFixed(0)} : ${blocks.toFixed(0)} blocks, ${before.time.toFixed(1)} : ${time.toFixed(1)} ms`
      line(what, figures, `× ${ratio.toFixed(1)}`, ratio <= 2, '≤ 2')
    }
    line('rows read by scans of whole tables', `${few.scanned} : ${many.scanned}`)
    line(
      'a node is ready after',
      `${few.ready.toFixed(1)} : ${many.ready.toFixed(1)} s`,
      '',
      many.ready - few.ready <= 2,
      '≤ 2 s more'
    )
  } finally {
    await server.stop()
  }
}

async function measure(url: string, runs: number) {
  const schema = `grown_${runs}`
  await (await createStore({ url, schema })).close()
  await fill(url, schema, runs)
  const load = await ServerLoad.watch(url)
  const begun = performance.now()
  const node = await startServer('node', 'postgres/serve-node.ts', url, schema, OWNER)
  try {
    while ((await fetch(`${node.url}/api/readyz`)).status !== 200) await pause(20)
    const ready = (performance.now() - begun) / 1_000
    await pause(COUNTS_SETTLE)
    await load.since()
    const costs: Record<string, Cost> = {}
    for (const what of Object.keys(ASK)) costs[what] = await costOf(load, node, what)
    const { scanned } = await pause(COUNTS_SETTLE).then(() => load.since())
    return { ready, costs, scanned }
  } finally {
    await node.stop()
    await load.close()
  }
}

async function costOf(load: ServerLoad, node: ServerProcess, what: string): Promise<Cost> {
  const ask = async () => {
    const response = await ASK[what]!(node.url)
    if (response.status !== 200) throw new Error(`${what}: ${response.status} ${await response.text()}`)
    await response.text()
  }
  await ask()
  await load.statements()
  for (let left = REQUESTS; left > 0; left--) await ask()
  const statements = await load.statements()
  const sum = (of: 'blocks' | 'time') => statements.reduce((total, each) => total + each[of], 0) / REQUESTS
  return { blocks: sum('blocks'), time: sum('time') }
}

/** Fills the tables as after so many finished runs of a week, of one owner, in sessions of ten turns. */
async function fill(url: string, schema: string, runs: number): Promise<void> {
  const client = new Client(url)
  await client.connect()
  const [from, step] = [Date.now() - 7 * 86_400_000, (7 * 86_400_000) / runs]
  const send = (text: string) => client.query(text)
  await send(`set search_path = ${schema}`)
  await send('set synchronous_commit = off')
  await send(`create temporary table g as
    select i, lpad(i::text, 10, '0') as run_id, (${from} + i * ${step})::bigint as at, 's' || i / ${TURNS} as session_id
    from generate_series(0, ${runs - 1}) i`)
  // Rows lie in the order in which a service writes them.
  await send(`insert into run (run_id, registry, kind, name, session_id, owner, metadata, created_at, updated_at, ended_at, status, epoch, bytes, result)
    select run_id, 'global', 'agent', 'quick', session_id, '${OWNER}', '{"customer":"c' || i % 1000 || '"}', at, at + 20, at + 20,
      case when i % 50 = 0 then 'failed' else 'completed' end, 1, 900, '{"text":"an answer of some words"}' from g`)
  await send(`insert into session (session_key, registry, owner, kind, name, session_id, created_at, updated_at, turns, last_seq, last_ordinal, last_run, listed)
    select 'agent/quick/' || length(session_id) || '/' || session_id || '${OWNER}', 'global', '${OWNER}', 'agent', 'quick', session_id, min(at), max(at),
      ${TURNS}, ${2 * TURNS}, ${TURNS}, max(run_id), 1 from g group by session_id order by min(i)`)
  await send(
    `insert into session_run select session_key, i % ${TURNS} + 1, run_id from g join session using (session_id) order by i`
  )
  await send(`insert into session_message select session_key, i % ${TURNS} * 2 + m, run_id, '{"role":"user","content":"Hello again"}'
    from g join session using (session_id), generate_series(1, 2) m order by i, m`)
  await send('drop table g')
  await send('vacuum analyze')
  await client.end()
}

function count(number: number): string {
  return number.toLocaleString('en-US')
}

function line(what: string, figures: string, ratio = '', holds?: boolean, must = ''): void {
  const verdict = holds === undefined ? '' : `must ${must}${holds ? '' : ', NOT OK'}`
  console.log(`${what.padEnd(38)}${figures.padEnd(44)}${ratio.padEnd(10)}${verdict}`.trimEnd())
}
