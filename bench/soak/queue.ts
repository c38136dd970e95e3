import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { QueueOptions } from '@svc/registry'
import { startPostgres, type Postgres } from '@tools/postgres'
import { Pool } from 'pg'
import type { Finding } from './finding.ts'
import { Random } from './random.ts'

/** How a node is started. */
export interface NodeOptions {
  readonly url: string
  readonly schema: string
  readonly node: number
  /** Milliseconds that a run takes. */
  readonly work: number
  readonly queue: Required<QueueOptions>
  readonly lease: { readonly ttl: number; readonly beat: number }
}

/** What a node is asked to queue. */
export interface QueueOrder {
  readonly owner: string
  readonly count: number
}

/** What is queued, and what happens meanwhile. */
export interface QueueLoad extends Pick<NodeOptions, 'work' | 'queue' | 'lease'> {
  /** Runs of the owner who is first. */
  readonly many: number
  /** Runs of each of two other owners, who come when all of those are queued. */
  readonly few: number
  /** Nodes killed one after the other, each replaced by another. */
  readonly kills: number
  /** Crashes of the database. */
  readonly crashes: number
  /** Decides when what happens, and which nodes are killed. */
  readonly seed: number
}

/** What came of it. */
export interface QueueReport {
  /** Runs that have not completed, or not exactly once. */
  readonly lost: number
  /** Runs that began twice, though the node that had them was not killed. */
  readonly begunTwice: number
  /** Runs that began again on another node. */
  readonly takenOver: number
  /** The most runs of one owner in progress at any time. */
  readonly most: number
  /** Runs of the first owner that began after the others were queued and before the first run of both had begun. */
  readonly before: number
  readonly runs: number
}

interface Effect {
  readonly id: number
  readonly run: string
  readonly owner: string
  readonly what: 'begin' | 'end'
  readonly node: number
}

const WORKER = fileURLToPath(new URL('queue-worker.ts', import.meta.url))
const OWNERS = ['ada', 'grace', 'alan'] as const
const SCHEMA = 'queue'
const LOOK = 100
// Milliseconds without any run that ends.
const STALLED = 60_000
const LOAD: Omit<QueueLoad, 'seed'> = {
  many: 10_000,
  few: 100,
  work: 5,
  queue: { concurrency: 10, perOwner: 8 },
  lease: { ttl: 4_000, beat: 500 },
  kills: 6,
  crashes: 6
}

/** Two nodes begin queued runs while nodes are killed and the database crashes. */
export async function queueUnderFire(server: Postgres, load: QueueLoad): Promise<QueueReport> {
  const service = new QueueService(server, load)
  try {
    return await service.run()
  } finally {
    await service.close()
  }
}

class QueueService {
  readonly #server: Postgres
  readonly #load: QueueLoad
  readonly #pool: Pool
  readonly #nodes = new Map<number, ChildProcess>()
  readonly #killed = new Set<number>()
  readonly #random: Random

  constructor(server: Postgres, load: QueueLoad) {
    this.#server = server
    this.#load = load
    this.#random = new Random(load.seed)
    this.#pool = new Pool({ connectionString: server.url, max: 1 })
    this.#pool.on('error', () => {})
    this.#pool.on('connect', (client) => client.on('error', () => {}))
  }

  async run(): Promise<QueueReport> {
    const { many, few, kills, crashes } = this.#load
    await this.#query(`create schema ${SCHEMA}`)
    await this.#query(`create table ${SCHEMA}.effect
      (id bigserial primary key, key text unique, run text, owner text, what text, node integer)`)
    await this.#start(1)
    await this.#start(2)
    const [first, second] = [...this.#nodes.values()] as [ChildProcess, ChildProcess]
    await Promise.all([order(first, 'ada', many / 2), order(second, 'ada', many / 2)])
    const [last] = await this.#query<{ id: number }>(
      `select coalesce(max(id), 0)::int as id from ${SCHEMA}.effect`
    )
    await Promise.all([order(first, 'grace', few), order(second, 'alan', few)])
    const total = many + 2 * few
    const incidents = kills + crashes
    for (let index = 0; index < incidents; index++) {
      await this.#ended((total * (index + 0.25 + this.#random.next() / 2)) / incidents)
      const left = kills - this.#killed.size
      if (this.#random.chance(left / (incidents - index))) await this.#replace()
      else await this.#server.restart('immediate')
    }
    await this.#ended(total)
    return this.#report(last!.id, total)
  }

  async close(): Promise<void> {
    for (const child of this.#nodes.values()) child.kill('SIGKILL')
    await this.#pool.end()
  }

  async #start(node: number): Promise<void> {
    const { work, queue, lease } = this.#load
    const options: NodeOptions = { url: this.#server.url, schema: SCHEMA, node, work, queue, lease }
    const child = fork(WORKER, [JSON.stringify(options)], { execArgv: ['--conditions=@svc/source'] })
    this.#nodes.set(node, child)
    await once(child, 'message')
  }

  async #replace(): Promise<void> {
    const [node, child] = this.#random.pick([...this.#nodes])
    const next = Math.max(...this.#nodes.keys()) + 1
    this.#nodes.delete(node)
    this.#killed.add(node)
    child.kill('SIGKILL')
    await this.#start(next)
  }

  // Until so many runs have ended, or no more do: then the report counts the others as lost.
  async #ended(count: number): Promise<void> {
    for (let ended = 0, at = performance.now(); performance.now() - at < STALLED;) {
      const [row] = await this.#query<{ ended: string }>(
        `select count(*) as ended from ${SCHEMA}.run where ended_at is not null`
      )
      if (Number(row!.ended) >= count) return
      if (Number(row!.ended) > ended) {
        ended = Number(row!.ended)
        at = performance.now()
      }
      await pause(LOOK)
    }
  }

  async #query<Row extends object>(text: string): Promise<Row[]> {
    for (;;) {
      try {
        return (await this.#pool.query<Row>(text)).rows
      } catch (err) {
        if (!/terminat|ECONN|starting up|shutting down|recovery/i.test(String(err))) throw err
        await pause(LOOK)
      }
    }
  }

  async #report(added: number, total: number): Promise<QueueReport> {
    const runs = await this.#query<{ run_id: string; status: string }>(
      `select run_id, status from ${SCHEMA}.run`
    )
    const effects = await this.#query<Effect>(
      `select id::int, run, owner, what, node from ${SCHEMA}.effect order by id`
    )
    const begins = Map.groupBy(
      effects.filter(({ what }) => what === 'begin'),
      ({ run }) => run
    )
    const again = [...begins.values()].filter((all) => all.length > 1)
    const completed = runs.filter(({ run_id, status }) => status === 'completed' && begins.has(run_id))
    const firsts = OWNERS.slice(1).map(
      (owner) => effects.find((each) => each.owner === owner && each.what === 'begin')!.id
    )
    const isBetween = ({ id, owner, what }: Effect) =>
      owner === 'ada' && what === 'begin' && id > added && id < Math.max(...firsts)
    return {
      lost: total - completed.length + Math.abs(runs.length - total),
      begunTwice: again.filter((all) => all.slice(0, -1).some(({ node }) => !this.#killed.has(node))).length,
      takenOver: again.length,
      most: Math.max(...OWNERS.map((owner) => mostAtOnce(effects.filter((each) => each.owner === owner)))),
      before: effects.filter(isBetween).length,
      runs: runs.length
    }
  }
}

// A run whose node was killed is in progress until it has ended elsewhere.
function mostAtOnce(effects: readonly Effect[]): number {
  const active = new Set<string>()
  let most = 0
  for (const { run, what } of effects) {
    if (what === 'begin') active.add(run)
    else active.delete(run)
    most = Math.max(most, active.size)
  }
  return most
}

async function order(child: ChildProcess, owner: string, count: number): Promise<void> {
  child.send({ owner, count } satisfies QueueOrder)
  await once(child, 'message')
}

/** 10,200 queued runs of three owners, 6 kills and 6 crashes of the database. */
export async function soakQueue(seed: number): Promise<Finding[]> {
  const server = await startPostgres()
  try {
    const report = await queueUnderFire(server, { ...LOAD, seed })
    console.log(
      `queue: seed ${seed}, ${report.runs} runs, of which ${report.takenOver} began again on another node`
    )
    return toFindings(report)
  } finally {
    await server.stop()
  }
}

function toFindings({ lost, begunTwice, most, before }: QueueReport): Finding[] {
  return [
    { what: 'queued runs lost, or executed without having been queued', value: lost, limit: 0, unit: 'runs' },
    { what: 'queued runs begun twice on living nodes', value: begunTwice, limit: 0, unit: 'runs' },
    { what: 'queued runs of one owner at once', value: most, limit: 8, unit: 'runs' },
    { what: 'runs of 10,000 that begin before the first of others', value: before, limit: 500, unit: 'runs' }
  ]
}
