import { setTimeout as pause } from 'node:timers/promises'
import { toLoggable, within, type RunLog } from '@svc/contract'
import type * as graphile from 'graphile-worker'
import type { Runner } from 'graphile-worker'
import { sql } from 'kysely'
import type { Pool } from 'pg'
import type { Dispatch } from '../../backend.ts'
import { STO_ERR_QUEUE_MISSING } from '../../errors.ts'
import type { PostgresOptions } from '../../options.ts'
import type { LocalLogs } from '../../runs/local-logs.ts'
import type { Connections } from '../open-pool.ts'
import { isAway, type Query } from '../query.ts'

/** Acts on a job, by its payload. */
export type Act = (payload: unknown) => Promise<void>

/** What serves jobs. */
export interface JobServerHost {
  /** Begins to get jobs, and calls `act` for as many at once as `concurrency`. @throws why it cannot */
  readonly run: (concurrency: number, act: Act) => Promise<Runner>
  readonly concurrency: number
  /** Does not reject. */
  readonly act: Act
  /** Called when a job was gotten for which there was no time. */
  readonly missed: () => Promise<void>
  readonly logger: Pick<RunLog, 'error'>
}

// Milliseconds.
const RESTART_AFTER = 1_000
const SETTLES_WITHIN = 1_000
// After these a runner gets no more jobs, or may get none: graphile-worker 0.18 keeps a failed look-up of its tasks forever.
const FAULTS = [
  'pool:gracefulShutdown',
  'pool:fatalError',
  'worker:fatalError',
  'worker:getJob:error'
] as const

/**
 * Acts on jobs until it is stopped. Runners of graphile-worker end when they cannot complete a job, but only after their other jobs, or
 * never; so the next one begins at once, and acts as soon as fewer jobs than allowed are in progress.
 */
class JobServer {
  readonly #host: JobServerHost
  readonly #stopping = new AbortController()
  readonly #acts = new Set<Promise<void>>()
  readonly #running: Promise<void>
  #retired: Promise<unknown> | undefined

  constructor(host: JobServerHost) {
    this.#host = host
    this.#running = this.#keepRunning()
  }

  /** Gets no more jobs; resolves when none is in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await Promise.all(this.#acts)
    if (this.#retired !== undefined) await within(SETTLES_WITHIN, this.#retired)
  }

  async #keepRunning(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await this.#runOnce(signal)
      } catch (err) {
        this.#report(err)
      }
      await pause(RESTART_AFTER, undefined, { ref: false, signal }).catch(() => {})
    }
  }

  // Resolves when the runner is to be replaced.
  async #runOnce(signal: AbortSignal): Promise<void> {
    const runner = await this.#host.run(this.#host.concurrency, (payload) => this.#act(signal, payload))
    const { promise, resolve } = Promise.withResolvers<void>()
    const retire = (event: unknown) => {
      this.#report((event as { error?: unknown }).error)
      resolve()
    }
    for (const fault of FAULTS) runner.events.once(fault, retire)
    signal.addEventListener('abort', retire, { once: true })
    if (signal.aborted) resolve()
    await promise
    signal.removeEventListener('abort', retire)
    this.#retired = Promise.allSettled([runner.stop(), runner.promise])
  }

  async #act(signal: AbortSignal, payload: unknown): Promise<void> {
    while (this.#acts.size >= this.#host.concurrency) await Promise.race(this.#acts)
    if (signal.aborted) return this.#host.missed()
    const act = this.#host.act(payload)
    this.#acts.add(act)
    await act
    this.#acts.delete(act)
  }

  #report(err: unknown): void {
    if (err !== undefined && !isAway(err))
      this.#host.logger.error({ err: toLoggable(err) }, 'the workers of the queue start again')
  }
}

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
// The payload of a job at whose time a schedule is due, and the key of that job.
const DUE = '{"due":true}'
const keyOf = (scheduleId: string) => `schedule ${scheduleId}`
// Connections: one for notifications, one for the jobs.
const POOL = 2
// Milliseconds between two looks, in case that a job was lost or none could begin.
const LOOK_EVERY = 2_000
const TIDY_EVERY = 60_000
const LOST_AFTER = 60_000
const CLOSES_WITHIN = 1_000
// Milliseconds that a job waits which has begun no run, so that many such jobs cost little.
const IDLE = 100
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
  readonly #tidyText: string
  readonly #servers = new Set<() => Promise<void>>()
  readonly #dueListeners = new Set<() => Promise<void>>()
  #worker: Promise<Worker> | undefined
  #pool: Pool | undefined

  constructor(host: JobHost) {
    this.#host = host
    this.#schema = `${host.options.schema}_worker`
    this.#lookText = lookText(host.table('run'), this.#schema)
    this.#tidyText = tidyText(this.#schema)
  }

  async requireInstalled(): Promise<void> {
    await loadWorker()
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

  async planned(
    trx: Parameters<Dispatch['planned']>[0],
    scheduleId: string,
    at: number | null
  ): Promise<void> {
    const key = keyOf(scheduleId)
    const call =
      at === null
        ? sql`${sql.id(this.#schema, 'remove_job')}(${key})`
        : sql`${sql.id(this.#schema, 'add_job')}(${sql.lit(TASK)}, payload => ${sql.lit(DUE)}::json,
            job_key => ${key}, run_at => to_timestamp(${at}::double precision / 1000))`
    await sql`select from ${call}`.execute(trx)
  }

  onDue = (listener: () => Promise<void>): (() => void) => {
    this.#dueListeners.add(listener)
    return () => this.#dueListeners.delete(listener)
  }

  taken(runId: string): void {
    this.#host.logs.own(runId, false)
    // Others need not wait until this run has ended.
    this.look()
  }

  left(runId: string): void {
    this.#host.logs.disown(runId)
  }

  async serve(concurrency: number, take: Take): Promise<() => Promise<void>> {
    await this.ready()
    this.look()
    void this.#tidy()
    const timers = [
      setInterval(() => this.look(), LOOK_EVERY).unref(),
      setInterval(() => void this.#tidy(), TIDY_EVERY).unref()
    ]
    const stopping = new AbortController()
    const server = new JobServer({
      run: (count, act) => this.#run(count, act),
      concurrency,
      act: (payload) => this.#act(take, stopping.signal, payload),
      missed: () => this.#look(),
      logger: this.#host.logger
    })
    let stopped: Promise<void> | undefined
    const stop = () => {
      for (const timer of timers) clearInterval(timer)
      stopping.abort()
      this.#servers.delete(stop)
      return (stopped ??= server.stop())
    }
    this.#servers.add(stop)
    return stop
  }

  look(): void {
    if (this.#worker !== undefined) void this.#look()
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#servers, (stop) => stop()))
    // A connection that does not answer is not waited for.
    if (this.#pool !== undefined) await within(CLOSES_WITHIN, this.#pool.end())
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

  async #run(concurrency: number, act: Act): Promise<graphile.Runner> {
    const worker = (await this.#worker)!
    const settings = this.#settings(worker)
    const options = { noHandleSignals: true, pollInterval: LOOK_EVERY, preset: BATCHES }
    return worker.run({ ...settings, ...options, concurrency }, { [TASK]: act }, [])
  }

  async #act(take: Take, stopping: AbortSignal, payload: unknown): Promise<void> {
    // What is fired waits in the queue when this resolves.
    if (isDue(payload)) for (const listener of this.#dueListeners) await listener()
    const hasTaken = await take()
    if (!hasTaken) await pause(IDLE, undefined, { signal: stopping }).catch(() => {})
    if (hasTaken || stopping.aborted) await this.#look()
  }

  async #look(): Promise<void> {
    // The next look makes up for one that fails.
    await this.#host.query('svc look', this.#lookText, []).catch(() => {})
  }

  async #tidy(): Promise<void> {
    await this.#host.query('svc tidy', this.#tidyText, []).catch(() => {})
  }
}

function isDue(payload: unknown): boolean {
  return (payload as { due?: unknown } | null)?.due === true
}

// Adds a job if runs wait and no worker would get one now.
function lookText(run: string, schema: string): string {
  return `select from (select where exists (select from ${run} where epoch = 0 and ended_at is null)
      and not exists (select from "${schema}".jobs
        where locked_at is null and attempts < max_attempts and run_at <= now())) wanted,
    "${schema}".add_job('${TASK}', job_key => 'look')`
}

// Gives back the jobs of workers that have had one for long: they are gone, or execute a run, which does not need its job. The next worker
// that gets such a job removes it; one that none may get is removed here.
function tidyText(schema: string): string {
  const isLost = `locked_at < now() - interval '${LOST_AFTER} milliseconds'`
  return `select case when workers <> '{}' then "${schema}".force_unlock_workers(workers) end,
      (select count(*) from "${schema}".complete_jobs(spent))
    from (select
      array(select distinct locked_by from "${schema}".jobs where ${isLost}) as workers,
      array(select id from "${schema}".jobs
        where attempts >= max_attempts and (locked_at is null or ${isLost})) as spent) lost`
}

// Only apps with queued runs on Postgres install it.
async function loadWorker(): Promise<Worker> {
  try {
    return await import('graphile-worker')
  } catch (err) {
    throw new STO_ERR_QUEUE_MISSING({ cause: err })
  }
}
