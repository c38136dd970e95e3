import { setTimeout as pause } from 'node:timers/promises'
import type { RunLog } from '@svc/registry'
import { toLoggable } from '@svc/registry/kit'
import type * as graphile from 'graphile-worker'
import { sql } from 'kysely'
import type { Pool } from 'pg'
import type { Dispatch } from '../../backend.ts'
import { isAway } from '../faults.ts'
import type { LocalLogs } from '../log/local-logs.ts'
import type { Connections } from '../open-pool.ts'
import type { PostgresOptions } from '../../options.ts'
import type { Query } from '../query.ts'
import { STO_ERR_QUEUE_MISSING } from '../../errors.ts'

/** What the jobs of queued runs need. */
export interface JobHost {
  readonly options: Pick<PostgresOptions, 'schema' | 'listenUrl' | 'prepare'>
  readonly connections: Connections
  readonly query: Query
  readonly logs: LocalLogs
  /** Quotes the name of a table, with its schema. */
  readonly table: (name: string) => string
  /** Rejects while the database cannot be opened. */
  readonly ready: () => Promise<void>
  readonly logger: Pick<RunLog, 'error'>
}

/** What is used of `graphile-worker`. */
type Worker = Pick<typeof graphile, 'run' | 'runMigrations' | 'Logger'>
type Take = () => Promise<boolean>

const TASK = 'run'
// Connections: one for notifications, one for the jobs.
const POOL = 2
// Milliseconds between two looks, in case that a job was lost or none could begin.
const LOOK_EVERY = 2_000
// Milliseconds that a job waits which has begun no run, so that many such jobs cost little.
const IDLE = 100
const RESTART_AFTER = 1_000
// In batches, even of one: otherwise graphile-worker 0.18 handles no error of completing a job, and a database that goes away ends the process.
const BATCHES = { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } }

/**
 * Jobs of graphile-worker say that runs may begin. A job names no run and decides nothing: the node that gets it takes the run whose turn
 * it is. So it does not matter if jobs are lost or repeated; as long as runs wait, each serving node adds one that is missing.
 */
export class JobQueue implements Dispatch {
  readonly #host: JobHost
  readonly #schema: string
  readonly #lookText: string
  readonly #servers = new Set<() => Promise<void>>()
  #worker: Promise<Worker> | undefined
  #pool: Pool | undefined

  constructor(host: JobHost) {
    this.#host = host
    this.#schema = `${host.options.schema}_worker`
    this.#lookText = `select from (select where exists (select from ${host.table('run')} where epoch = 0 and ended_at is null)
        and not exists (select from "${this.#schema}".jobs where locked_at is null)) wanted,
      "${this.#schema}".add_job('${TASK}', job_key => 'look')`
  }

  /** Makes the tables of the jobs, at the first call. @throws STO_ERR_QUEUE_MISSING */
  async ready(): Promise<void> {
    this.#worker ??= this.#open()
    try {
      await this.#worker
    } catch (err) {
      this.#worker = undefined
      throw err
    }
  }

  async added(trx: Parameters<Dispatch['added']>[0]): Promise<void> {
    await sql`select from ${sql.id(this.#schema, 'add_job')}(${sql.lit(TASK)})`.execute(trx)
  }

  taken(runId: string): void {
    this.#host.logs.own(runId, false)
  }

  left(runId: string): void {
    this.#host.logs.disown(runId)
  }

  async serve(concurrency: number, take: Take): Promise<() => Promise<void>> {
    await this.ready()
    const stopping = new AbortController()
    const timer = setInterval(() => this.look(), LOOK_EVERY).unref()
    const running = this.#keepRunning(concurrency, take, stopping.signal)
    let stopped: Promise<void> | undefined
    const stop = () => {
      clearInterval(timer)
      stopping.abort()
      this.#servers.delete(stop)
      return (stopped ??= running)
    }
    this.#servers.add(stop)
    return stop
  }

  look(): void {
    if (this.#worker !== undefined) void this.#look()
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#servers, (stop) => stop()))
    await this.#pool?.end()
  }

  async #open(): Promise<Worker> {
    await this.#host.ready()
    const worker = await loadWorker()
    await worker.runMigrations(this.#settings(worker))
    return worker
  }

  #settings(worker: Worker) {
    const { connections, options } = this.#host
    const direct = options.listenUrl === undefined ? {} : { connectionString: options.listenUrl }
    this.#pool ??= connections.createPool({ ...direct, max: POOL })
    return {
      pgPool: this.#pool,
      schema: this.#schema,
      noPreparedStatements: !options.prepare,
      // A database that is away is reported by the store, and jobs do not fail.
      logger: new worker.Logger(() => () => {})
    }
  }

  // Its workers stop when the database is away for long.
  async #keepRunning(concurrency: number, take: Take, stopping: AbortSignal): Promise<void> {
    const { logger } = this.#host
    const act = () => this.#act(take, stopping)
    while (!stopping.aborted) {
      try {
        await this.#run((await this.#worker)!, concurrency, act, stopping)
      } catch (err) {
        if (!isAway(err)) logger.error({ err: toLoggable(err) }, 'the workers of the queue start again')
      }
      await pause(RESTART_AFTER, undefined, { ref: false, signal: stopping }).catch(() => {})
    }
  }

  async #run(
    worker: Worker,
    concurrency: number,
    act: () => Promise<void>,
    stopping: AbortSignal
  ): Promise<void> {
    const runner = await worker.run(
      {
        ...this.#settings(worker),
        preset: BATCHES,
        concurrency,
        noHandleSignals: true,
        pollInterval: LOOK_EVERY
      },
      { [TASK]: act },
      []
    )
    const stop = () => void runner.stop().catch(() => {})
    stopping.addEventListener('abort', stop, { once: true })
    if (stopping.aborted) stop()
    await runner.promise.finally(() => stopping.removeEventListener('abort', stop))
  }

  async #act(take: Take, stopping: AbortSignal): Promise<void> {
    if (stopping.aborted) return
    if (await take()) await this.#look()
    else await pause(IDLE, undefined, { signal: stopping }).catch(() => {})
  }

  async #look(): Promise<void> {
    // The next look makes up for one that fails.
    await this.#host.query('svc look', this.#lookText, []).catch(() => {})
  }
}

// Only apps with queued runs on Postgres install it.
async function loadWorker(): Promise<Worker> {
  try {
    return await import('graphile-worker')
  } catch (err) {
    throw new STO_ERR_QUEUE_MISSING({ cause: err })
  }
}
