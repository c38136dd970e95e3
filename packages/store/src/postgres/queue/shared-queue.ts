import { runnableKeyText, type NextQuery, type NextRun } from '@svc/contract'
import { QueueWorkers } from '@svc/contract/stores'
import type { Claimant, Dispatch } from '../../backend.ts'
import type { LocalLogs } from '../../runs/local-logs.ts'
import { textArray } from '../lane/binary-arrays.ts'
import type { NodeChannel } from '../nodes/node-channel.ts'
import type { Query } from '../query.ts'

/** What the queue of a node needs. */
export interface QueueHost {
  readonly channel: NodeChannel
  /** Does not repeat a query that failed. */
  readonly query: Query
  readonly logs: LocalLogs
  readonly claimant: Pick<Claimant, 'id'>
  /** Quotes the name of a table or a function, with its schema. */
  readonly table: (name: string) => string
}

interface Asked {
  readonly query: NextQuery
  readonly answer: PromiseWithResolvers<NextRun | undefined>
}

interface Freed {
  readonly ended: ReadonlySet<string>
  readonly recounted: ReadonlySet<string>
}

type Row = Omit<NextRun, 'runId' | 'epoch'> & { run_id: string; note: 'again' | 'left' | null }

const NONE: Freed = { ended: new Set(), recounted: new Set() }
const NOTHING: NextQuery = { runnables: [], perOwner: Number.MAX_SAFE_INTEGER, unlimited: '' }
// Runs that one statement begins at most.
const MAX_BEGUN = 50
// Milliseconds between two looks, in case that a message was lost.
const LOOK_EVERY = 10_000
// Owners whose runs in progress a look counts again, in case that the process died which should have done so.
const COUNTED = 100
// Milliseconds for which a statement whose answer was lost may still begin runs: its server may have been stopped.
const UNSURE_FOR = 60_000

/**
 * The queue of one node of several. Any number of nodes take runs at once, each those of other owners: see the migration that adds the lines
 * of the queue. The calls of `next` that come while a statement is under way share the following one.
 */
export class SharedQueue implements Dispatch {
  readonly #host: QueueHost
  readonly #workers = new QueueWorkers()
  readonly #stops = new Set<() => Promise<void>>()
  readonly #takeText: string
  readonly #lostText: string
  readonly #busyText: string
  #asked: Asked[] = []
  // Runs from the queue that have ended, and owners whose runs in progress are counted again.
  #ended = new Set<string>()
  #recounted = new Set<string>()
  // Of the last call.
  #query: NextQuery = NOTHING
  #working: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  // Until when runs may have been begun that this process does not know of.
  #unsureUntil = -Infinity
  // The last owner whose runs a look has counted.
  #counted = ''

  constructor(host: QueueHost) {
    const { table, channel } = host
    this.#host = host
    this.#takeText = `select * from ${table('queue_take')}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
    this.#lostText = `select null as note, o.run_id, r.registry, r.kind, r.name, o.owner from ${table('run_open')} o
      cross join lateral (select r.registry, r.kind, r.name, r.status from ${table('run')} r where r.run_id = o.run_id limit 1) r
      where o.node_id = $1 and o.queued_at is not null and o.epoch = 1 and r.status = 'working'`
    this.#busyText = `select distinct owner from ${table('queue_line')} where busy > 0 and owner > $1 order by owner limit ${COUNTED}`
    channel.on('queue', () => this.#workers.look())
    channel.onReconnect(() => this.#workers.look())
  }

  next(query: NextQuery): Promise<NextRun | undefined> {
    const answer = Promise.withResolvers<NextRun | undefined>()
    this.#asked.push({ query, answer })
    this.#begin()
    return answer.promise
  }

  serve(concurrency: number, take: () => Promise<boolean>): () => Promise<void> {
    this.#timer ??= setInterval(() => void this.#look(), LOOK_EVERY).unref()
    const served = this.#workers.serve(concurrency, take)
    const stop = async () => {
      this.#stops.delete(stop)
      if (this.#stops.size === 0) this.#stopLooking()
      await served()
    }
    this.#stops.add(stop)
    return stop
  }

  look(): void {
    this.#workers.look()
  }

  ended = (runId: string): void => {
    this.#ended.add(runId)
    this.#begin()
  }

  left(runId: string): void {
    this.#host.logs.disown(runId)
    this.#wake(1)
  }

  taken(runId: string): void {
    this.#host.logs.own(runId, false)
  }

  planned(): void {
    void this.#host.channel.post('schedule', ['planned'])
  }

  onPlanned = (listener: () => void): (() => void) => this.#host.channel.on('schedule', listener)

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#stops, (stop) => stop()))
    await this.#working
  }

  #stopLooking(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #begin(): void {
    this.#working ??= this.#work()
  }

  #wake(count?: number): void {
    this.#workers.look(count)
    void this.#host.channel.post('queue', ['run'])
  }

  async #work(): Promise<void> {
    // Later calls of this turn share the statement.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#asked.length > 0 || this.#ended.size > 0 || this.#recounted.size > 0) await this.#take()
    this.#working = undefined
  }

  async #take(): Promise<void> {
    const [first] = this.#asked
    const key = first && keyOf(first.query)
    const isTaken = (each: Asked, index: number) => index < MAX_BEGUN && keyOf(each.query) === key
    const asked = this.#asked.filter(isTaken)
    this.#asked = this.#asked.filter((each) => !asked.includes(each))
    const freed = { ended: this.#ended, recounted: this.#recounted }
    this.#ended = new Set()
    this.#recounted = new Set()
    this.#query = first?.query ?? this.#query
    try {
      await this.#answer(asked, freed)
    } catch (err) {
      if (asked.length > 0) this.#unsureUntil = performance.now() + UNSURE_FOR
      for (const { answer } of asked) answer.reject(err)
    }
  }

  async #answer(asked: Asked[], freed: Freed): Promise<void> {
    const { claimant, query } = this.#host
    const node = await claimant.id()
    const give = (rows: readonly Row[]) => {
      for (const { run_id: runId, registry, kind, name, owner } of rows) {
        this.taken(runId)
        asked.shift()!.answer.resolve({ runId, registry, kind, name, owner, epoch: 1 })
      }
    }
    if (asked.length > 0 && this.#unsureUntil !== -Infinity) give(await this.#findLost(node, asked.length))
    for (let left = freed, isAgain = true; isAgain && (asked.length > 0 || left !== NONE); left = NONE) {
      const rows = await query<Row>('svc take', this.#takeText, this.#parameters(asked.length, node, left))
      give(rows.filter(({ note }) => note === null))
      if (rows.some(({ note }) => note === 'left')) this.#wake()
      isAgain = rows.some(({ note }) => note === 'again')
    }
    for (const { answer } of asked) answer.resolve(undefined)
  }

  // What statements have begun whose answers were lost.
  async #findLost(node: string, limit: number): Promise<readonly Row[]> {
    const { query, logs } = this.#host
    const isOver = performance.now() >= this.#unsureUntil
    const rows = await query<Row>('svc lost', this.#lostText, [node])
    const lost = rows.filter(({ run_id }) => logs.get(run_id)?.isOwn !== true)
    if (isOver && lost.length <= limit) this.#unsureUntil = -Infinity
    return lost.slice(0, limit)
  }

  async #look(): Promise<void> {
    this.#workers.look()
    const { query } = this.#host
    const rows = await query<{ owner: string }>('svc busy', this.#busyText, [this.#counted]).catch(() => [])
    for (const { owner } of rows) this.#recounted.add(owner)
    this.#counted = rows.length === COUNTED ? rows.at(-1)!.owner : ''
    if (rows.length > 0) this.#begin()
  }

  #parameters(count: number, node: string, { ended, recounted }: Freed): unknown[] {
    const { runnables, perOwner, unlimited } = this.#query
    return [
      count,
      perOwner,
      unlimited,
      node,
      Date.now(),
      textArray(runnables.map(({ registry }) => registry)),
      textArray(runnables.map(({ kind }) => kind)),
      textArray(runnables.map(({ name }) => name)),
      textArray([...ended]),
      textArray([...recounted])
    ]
  }
}

function keyOf({ runnables, perOwner, unlimited }: NextQuery): string {
  return `${perOwner} ${unlimited} ${runnables.map(runnableKeyText).join(' ')}`
}
