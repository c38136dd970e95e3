import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startPostgres, type Postgres } from '@tools/postgres'
import { Pool } from 'pg'
import type { Finding } from './finding.ts'
import { Random } from './random.ts'

/** How a node is started. */
export interface ScheduleNode {
  readonly url: string
  readonly schema: string
  readonly node: number
  readonly lease: { readonly ttl: number; readonly beat: number }
}

/** What is fired, and what happens meanwhile. */
export interface ScheduleLoad {
  readonly nodes: number
  /** Instants, one after the other. */
  readonly instants: number
  /** The share of instants at which the node that fires first is killed. */
  readonly kills: number
  /** Decides which ones, and when. */
  readonly seed: number
}

/** What came of it. */
export interface ScheduleReport {
  /** Instants without a run, or whose run has not completed. */
  readonly lost: number
  /** Runs beyond one for each instant. */
  readonly repeated: number
  /** Runs that began more than once, though no node that had them was killed. */
  readonly begunTwice: number
  readonly killed: number
}

const WORKER = fileURLToPath(new URL('schedule-worker.ts', import.meta.url))
const SCHEMA = 'schedules'
const LEASE = { ttl: 3_000, beat: 500 }
const LOOK = 50
// Milliseconds without a run that ends.
const STALLED = 60_000
// Milliseconds from the report of a node that it fires to its end, at most.
const KILLED_WITHIN = 12
const FIRE_NOW = `update ${SCHEMA}.schedule set next_at = (extract(epoch from clock_timestamp()) * 1000 - 1)::bigint`

/** Nodes on one database fire a schedule, and those that fire are killed. */
export async function scheduleUnderFire(server: Postgres, load: ScheduleLoad): Promise<ScheduleReport> {
  const service = new ScheduledService(server, load)
  try {
    return await service.run()
  } finally {
    await service.close()
  }
}

class ScheduledService {
  readonly #server: Postgres
  readonly #load: ScheduleLoad
  readonly #pool: Pool
  readonly #random: Random
  readonly #nodes = new Map<number, ChildProcess>()
  readonly #killed = new Set<number>()
  #replaced: Promise<void> = Promise.resolve()
  #kills = false
  #next = 1

  constructor(server: Postgres, load: ScheduleLoad) {
    this.#server = server
    this.#load = load
    this.#random = new Random(load.seed)
    this.#pool = new Pool({ connectionString: server.url, max: 1 })
    this.#pool.on('error', () => {})
  }

  async run(): Promise<ScheduleReport> {
    const { nodes, instants, kills } = this.#load
    await this.#pool.query(`create schema ${SCHEMA}`)
    await this.#pool.query(`create table ${SCHEMA}.effect (id bigserial primary key, run text, node integer)`)
    for (let count = 0; count < nodes; count++) await this.#start()
    let lost = 0
    for (let instant = 1; instant <= instants; instant++) {
      this.#kills = this.#random.chance(kills)
      await this.#pool.query(FIRE_NOW)
      for (const child of this.#nodes.values()) if (child.connected) child.send({ look: true })
      if (!(await this.#ended(instant - lost))) lost++
      this.#kills = false
      await this.#replaced
    }
    return this.#report(lost)
  }

  async close(): Promise<void> {
    for (const child of this.#nodes.values()) child.kill('SIGKILL')
    await this.#pool.end()
  }

  async #start(): Promise<void> {
    const node = this.#next++
    const options: ScheduleNode = { url: this.#server.url, schema: SCHEMA, node, lease: LEASE }
    const child = fork(WORKER, [JSON.stringify(options)], { execArgv: ['--conditions=@svc/source'] })
    this.#nodes.set(node, child)
    await once(child, 'message')
    child.on('message', () => this.#fires(node))
  }

  #fires(node: number): void {
    if (!this.#kills) return
    this.#kills = false
    this.#replaced = this.#replace(node)
  }

  async #replace(node: number): Promise<void> {
    await pause(this.#random.below(KILLED_WITHIN))
    this.#killed.add(node)
    this.#nodes.get(node)!.kill('SIGKILL')
    this.#nodes.delete(node)
    await this.#start()
  }

  // False if no run ends any more.
  async #ended(count: number): Promise<boolean> {
    for (const from = performance.now(); performance.now() - from < STALLED; await pause(LOOK)) {
      const ended = await this.#pool.query(
        `select count(*)::int as count from ${SCHEMA}.run where ended_at is not null`
      )
      if (ended.rows[0].count >= count) return true
    }
    return false
  }

  async #report(lost: number): Promise<ScheduleReport> {
    const runs = await this.#pool.query(`select run_id, status from ${SCHEMA}.run`)
    const begins = await this.#pool.query<{ run: string; nodes: number[] }>(
      `select run, array_agg(node order by id) as nodes from ${SCHEMA}.effect group by run`
    )
    const failed = runs.rows.filter(({ status }) => status !== 'completed').length
    return {
      lost: lost + failed,
      repeated: Math.max(0, runs.rows.length - this.#load.instants),
      begunTwice: begins.rows.filter(({ nodes }) =>
        nodes.slice(0, -1).some((node) => !this.#killed.has(node))
      ).length,
      killed: this.#killed.size
    }
  }
}

/** 100 instants of a schedule on 20 nodes; at half of them the node that fires first is killed. */
export async function soakSchedules(seed: number): Promise<Finding[]> {
  const server = await startPostgres()
  try {
    const report = await scheduleUnderFire(server, { nodes: 20, instants: 100, kills: 0.5, seed })
    console.log(`${report.killed} nodes killed while they fired, seed ${seed}`)
    return [
      { what: 'instants of a schedule lost', value: report.lost, limit: 0, unit: 'instants' },
      { what: 'instants of a schedule fired twice', value: report.repeated, limit: 0, unit: 'runs' },
      {
        what: 'runs of a schedule begun twice on living nodes',
        value: report.begunTwice,
        limit: 0,
        unit: 'runs'
      }
    ]
  } finally {
    await server.stop()
  }
}
