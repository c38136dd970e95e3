import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { COUNTED, COUNTS_SETTLE, ServerLoad, startPostgres, type Postgres } from '@tools/postgres'
import { median } from './figures.ts'
import { measureRuns, type RunCosts } from './postgres/run-costs.ts'
import { startServer } from './server-process.ts'

const NODES = 3
const IDLE = 30_000

/** Prints what users of a service on Postgres meet, and what must hold: counts, and ratios to memory in the same minutes. */
export async function report(rounds: number): Promise<void> {
  console.log(
    '\nruns with sessions over HTTP, and what must hold on Postgres; each measured within the same minutes\n'
  )
  const server = await startPostgres({ durable: true, settings: COUNTED }).catch((err: Error) => err)
  if (server instanceof Error) return console.log(`not measured: ${server.message}`)
  try {
    await reportIdle(server)
    await reportCosts(server, rounds)
    await reportCrowds(server)
  } finally {
    await server.stop()
  }
}

async function reportIdle({ url }: Postgres): Promise<void> {
  const load = await ServerLoad.watch(url)
  const nodes = await Promise.all(
    Array.from({ length: NODES }, () => startServer('node', 'postgres/serve-node.ts', url))
  )
  try {
    await pause(COUNTS_SETTLE)
    await load.since()
    await load.statements()
    await pause(IDLE)
    const { commits } = await load.since()
    const all = await load.statements()
    const perSecond = (count: number) => (count * 1_000) / IDLE
    const ofQueue = all.filter(({ query }) => /queue|_worker/.test(query))
    const calls = (of: typeof all) => of.reduce((sum, each) => sum + each.calls, 0)
    line(`statements a second of ${NODES} idle nodes`, perSecond(calls(all)).toFixed(1))
    line(
      '  of them looks at the queue',
      perSecond(calls(ofQueue)).toFixed(1),
      perSecond(calls(ofQueue)) <= 1,
      '≤ 1'
    )
    line('  transactions a second', perSecond(commits).toFixed(1))
  } finally {
    await Promise.all(nodes.map((node) => node.stop()))
    await load.close()
  }
}

async function reportCosts({ url }: Postgres, rounds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  const urls = { memory: '', SQLite: `sqlite:${join(folder, 'bench.db')}`, Postgres: url }
  const costs: Record<keyof typeof urls, RunCosts[]> = { memory: [], SQLite: [], Postgres: [] }
  for (let round = 0; round < rounds; round++)
    for (const kind of Object.keys(urls) as (keyof typeof urls)[])
      costs[kind].push(await measureRuns(urls[kind], 1, { runs: 1_500, callers: 50, turns: 4 }))
  rmSync(folder, { recursive: true, force: true })
  const [memory, sqlite, postgres] = (['memory', 'SQLite', 'Postgres'] as const).map((kind) =>
    median(costs[kind].map(({ node }) => node))
  ) as [number, number, number]
  const of = (pick: (server: RunCosts['server'] & {}) => number) =>
    median(costs.Postgres.map(({ server }) => pick(server!)))
  const times = (figure: number) => `${figure.toFixed(2)} ms, ${(figure / memory).toFixed(1)} × memory`
  const cpu = of((server) => server.cpu / 1_000)
  console.log('one node, 50 callers, sessions of 4 turns')
  line('  CPU of the node for a run in memory', `${memory.toFixed(2)} ms`)
  line('  on SQLite', times(sqlite))
  line('  on Postgres', times(postgres), postgres <= 2 * memory && postgres <= 1.8, '≤ 1.8 ms, ≤ 2 × memory')
  line('  of Postgres itself', times(cpu), cpu <= memory, '≤ 1 × memory')
  const rss = median(costs.Postgres.map((cost) => cost.memory))
  line('  the most memory of the node on Postgres', `${rss.toFixed(0)} MB`)
  line('  tables and indexes of a run', `${(of(({ disk }) => disk) / 1_000).toFixed(1)} kB`)
  printCounts(
    Object.fromEntries(
      ['statements', 'commits', 'rollbacks', 'wal', 'hot'].map((name) => [
        name,
        of((server) => server[name as 'wal'])
      ])
    ) as Counts
  )
}

/** Counts of Postgres for one run. */
type Counts = Record<'statements' | 'commits' | 'rollbacks' | 'wal' | 'hot', number>

function printCounts({ statements, commits, rollbacks, wal, hot }: Counts): void {
  line('  statements of a run', statements.toFixed(1), statements <= 5, '≤ 5')
  line('  commits of a run', commits.toFixed(2), commits <= 1.2, '≤ 1.2')
  line('  rollbacks of a run', rollbacks.toFixed(3), rollbacks <= 0.02, '≤ 0.02')
  line(
    '  write-ahead log of a run, without images of pages',
    `${(wal / 1_000).toFixed(1)} kB`,
    wal <= 6_000,
    '≤ 6 kB'
  )
  line('  updates of rows of `run` that are HOT', `${(hot * 100).toFixed(0)} %`, hot >= 0.9, '≥ 90 %')
}

async function reportCrowds({ url }: Postgres): Promise<void> {
  for (const [what, calls] of [
    ['one caller, one session after another', { runs: 400, callers: 1, turns: 4 }],
    ['50 callers', { runs: 1_500, callers: 50, turns: 4 }],
    ['150 callers', { runs: 1_500, callers: 150, turns: 4 }],
    [
      '1,000 starts at once in sessions of their own',
      { runs: 1_000, callers: 1_000, turns: 1, background: true }
    ]
  ] as const) {
    const { server, refused } = await measureRuns(url, NODES, calls)
    const all = Object.values(refused).reduce((sum, count) => sum + count, 0)
    console.log(`three nodes, ${what}`)
    line('  refused', all === 0 ? '0' : JSON.stringify(refused), all === 0, '0')
    const { cpu, statements, commits, rollbacks, wal } = server!
    line('  rollbacks of a run', rollbacks.toFixed(3), rollbacks <= 0.02, '≤ 0.02')
    line(
      '  statements, commits, kB of log, ms of Postgres',
      `${statements.toFixed(1)}, ${commits.toFixed(2)}, ${(wal / 1_000).toFixed(1)}, ${(cpu / 1_000).toFixed(2)}`
    )
  }
}

function line(what: string, measured: string, holds?: boolean, must = ''): void {
  const verdict = holds === undefined ? '' : `must ${must}${holds ? '' : ', NOT OK'}`
  console.log(`${what.padEnd(56)}${measured.padEnd(28)}${verdict}`.trimEnd())
}
