import { createHash } from 'node:crypto'
import {
  sessionKeyText,
  type Awaitable,
  type ControlBus,
  type ControlMessage,
  type InputOutcome,
  type LogEntry,
  type ReadLimit
} from '@svc/contract'
import { runIdOf, SessionFollowers } from '@svc/contract/stores'
import { createInProcessControlBus } from '@svc/registry/engine'
import type { Kysely } from 'kysely'
import type { ClientConfig } from 'pg'
import type { Backend, NodeParts } from '../backend.ts'
import { PATIENCE } from '../commit.ts'
import { parseStored } from '../encoding/values.ts'
import type { PostgresOptions } from '../options.ts'
import { createWrittenCheckpoints, createWrittenRuns, LocalLogs, takePage } from '../runs/local-logs.ts'
import { createSessionEntry, Reports } from '../runs/run-write.ts'
import { createStreamLog, type LogReads } from '../runs/stream-log.ts'
import type { Tables } from '../tables.ts'
import { PostgresCounters } from './counter-store.ts'
import { bigintArray, intArray, textArray } from './lane/binary-arrays.ts'
import { Lane } from './lane/lane.ts'
import { unpackParts } from './lane/packed-parts.ts'
import { createStatements } from './lane/statements.ts'
import { createNewestMessages } from './log/newest-messages.ts'
import { Together } from './log/together.ts'
import { WakeUps } from './log/wake-ups.ts'
import { Failovers } from './nodes/failovers.ts'
import { NodeChannel } from './nodes/node-channel.ts'
import { PostgresLease, showAlive } from './nodes/node-lease.ts'
import { SessionTurns } from './nodes/session-turns.ts'
import type { Connections } from './open-pool.ts'
import { createQuery, type Query } from './query.ts'
import { SharedQueue } from './queue/shared-queue.ts'
import { createOwnedRuns } from './run-store.ts'

interface Wanted {
  readonly runId: string
  readonly after: number
  readonly limit: ReadLimit
}

interface Row {
  ord: number
  /** Of the last part in the row. */
  seq: number
  /** Null if the row exceeds the limit of its read. */
  json: string | null
}

// Rows per read, and reads per query: bounds of what one query returns.
const MAX_ROWS = 512
const MAX_READS = 100
const MAX_SEQ = 2_147_483_647

/**
 * Reads pages of logs: all that one turn of the event loop asks for in one query.
 * @param parts the quoted name of the table of parts
 */
function createBatchReads(query: Query, parts: string): LogReads {
  // The bytes before an entry decide whether it still fits; the first always does.
  const text = `select f.ord::int, p.seq,
      case when p.before = 0 or p.before + octet_length(p.json) <= f.bytes then p.json end as json
    from unnest($1::text[], $2::int[], $3::int[], $4::bigint[]) with ordinality as f(run_id, after, most, bytes, ord)
    cross join lateral (
      select q.seq, q.json, sum(octet_length(q.json)) over (order by q.seq) - octet_length(q.json) as before
      from (select seq, json from ${parts} where run_id = f.run_id and seq > f.after order by seq limit f.most) q
    ) p
    order by f.ord, p.seq`
  const reads = new Together<Wanted, readonly LogEntry[]>(
    MAX_READS,
    ({ runId, after, limit }) => `${runId} ${after} ${limit.entries} ${limit.bytes}`,
    async (wanted) => {
      const rows = await query<Row>('svc read', text, [
        textArray(wanted.map(({ runId }) => runId)),
        intArray(wanted.map(({ after }) => Math.min(after, MAX_SEQ))),
        intArray(wanted.map(({ limit }) => Math.min(limit.entries, MAX_ROWS))),
        bigintArray(wanted.map(({ limit }) => Math.min(limit.bytes, MAX_SEQ)))
      ])
      const found = wanted.map((): LogEntry[] => [])
      for (const { ord, seq, json } of rows)
        if (json !== null) {
          const entries = found[ord - 1]!
          entries.push(...unpackParts({ seq, json }, entries.at(-1)?.seq ?? wanted[ord - 1]!.after))
        }
      return wanted.map(({ limit }, index) => takePage(found[index]!, limit))
    }
  )
  return { read: (runId, after, limit) => reads.ask({ runId, after, limit }) }
}

/** Reads the answer to an input; undefined if there is none. */
export type ReadAnswer = (inputId: string) => Promise<InputOutcome | undefined>

/**
 * Control messages between nodes: a notification has only ids, and answers are read from the store. The beat of the lease repeats cancels
 * and answers whose notification was lost.
 */
function createSharedControlBus(
  channel: NodeChannel,
  lease: Pick<PostgresLease, 'onRequests'>,
  readAnswer: ReadAnswer
): ControlBus {
  const local = createInProcessControlBus()
  const deliver = (message: ControlMessage) => void local.publish(message)
  const deliverCancels = (runIds: readonly string[]) => {
    for (const runId of runIds) deliver({ type: 'cancel', runId })
  }
  const deliverAnswers = (inputIds: readonly string[]) => {
    for (const inputId of inputIds) void deliverAnswer(inputId)
  }
  const deliverAnswer = async (inputId: string) => {
    // The next beat repeats it if this fails.
    const answer = await readAnswer(inputId).catch(() => undefined)
    if (answer !== undefined) deliver({ type: 'input', runId: runIdOf(inputId), inputId, answer })
  }
  channel.on('cancel', deliverCancels)
  channel.on('input', deliverAnswers)
  channel.on('steer', (ids) => ids.forEach((id) => deliver(parseSteer(id))))
  channel.on('watch', (ids) => ids.forEach((id) => deliver(parseWatch(id))))
  lease.onRequests(({ cancels, answers }) => {
    deliverCancels(cancels)
    deliverAnswers(answers)
  })
  return {
    async publish(message) {
      await local.publish(message)
      await channel.post(message.type, [toId(message)])
    },
    subscribe: (listener) => local.subscribe(listener)
  }
}

// Ids of runs, of watchers and of messages have no colons.
function toId(message: ControlMessage): string {
  if (message.type === 'input') return message.inputId
  if (message.type === 'cancel') return message.runId
  if (message.type === 'steer') return `${message.runId}:${message.steerId}`
  return `${message.runId}:${message.watcher}${message.left ? ':left' : ''}`
}

function parseSteer(id: string): ControlMessage {
  const [runId = '', steerId = ''] = id.split(':')
  return { type: 'steer', runId, steerId }
}

function parseWatch(id: string): ControlMessage {
  const [runId = '', watcher = '', left] = id.split(':')
  return { type: 'watch', runId, watcher, ...(left !== undefined && { left: true }) }
}

/** What the followers of several nodes need. */
export interface FollowersHost {
  readonly channel: NodeChannel
  readonly query: Query
  /** Quotes the name of a table, with its schema. */
  readonly table: (name: string) => string
}

// Milliseconds between two looks, the longest that a reader waits if a notification was lost.
const LOOK_EVERY = 1_000
// Milliseconds for which a node notifies others after they announced their readers.
const INTEREST = 5_000

/**
 * The followers of sessions that runs enter on any node. A node notifies the others only of sessions that they have announced to follow; in case a
 * notification is lost, the last ordinals of all followed sessions are read once a second, in one query.
 */
class EnteredSessions implements Pick<SessionFollowers, 'follow' | 'notify'> {
  readonly #host: FollowersHost
  readonly #text: string
  readonly #followers = new SessionFollowers()
  // The last ordinals that looks have found.
  readonly #seen = new Map<string, number>()
  // When the interest of other nodes ends, by hashes of keys.
  readonly #interest = new Map<string, number>()
  readonly #timer: NodeJS.Timeout

  constructor(host: FollowersHost) {
    this.#host = host
    this.#text = `select ord::int, s.last_ordinal as last from unnest($1::text[]) with ordinality as f(session_key, ord)
      join ${host.table('session')} s using (session_key)`
    host.channel.on('visit', (hashes) => this.#announced(hashes))
    host.channel.on('enter', (hashes) => this.#entered(new Set(hashes)))
    host.channel.onReconnect(() => void this.#look())
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY).unref()
  }

  /** A run of this node has entered, or this node has removed the session. */
  notify(sessionKey: string): void {
    this.#followers.notify(sessionKey)
    if (this.#interest.size === 0) return
    const hash = hashOf(sessionKey)
    if ((this.#interest.get(hash) ?? 0) >= performance.now()) void this.#host.channel.post('enter', [hash])
  }

  follow(sessionKey: string, listener: () => void): () => void {
    void this.#host.channel.post('visit', [hashOf(sessionKey)])
    return this.#followers.follow(sessionKey, listener)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #announced(hashes: readonly string[]): void {
    for (const hash of hashes) this.#interest.set(hash, performance.now() + INTEREST)
  }

  #entered(hashes: ReadonlySet<string>): void {
    for (const key of this.#followers.keys) if (hashes.has(hashOf(key))) this.#followers.notify(key)
  }

  async #look(): Promise<void> {
    const now = performance.now()
    for (const [hash, until] of this.#interest) if (until < now) this.#interest.delete(hash)
    const { keys } = this.#followers
    const followed = new Set(keys)
    for (const key of this.#seen.keys()) if (!followed.has(key)) this.#seen.delete(key)
    if (keys.length === 0) return
    void this.#host.channel.post('visit', keys.map(hashOf))
    const { query } = this.#host
    const rows = await query<{ ord: number; last: number }>('svc entered', this.#text, [
      textArray(keys)
    ]).catch(() => undefined)
    if (rows === undefined) return
    const found = new Set<string>()
    for (const { ord, last } of rows) {
      const key = keys[ord - 1]!
      found.add(key)
      if (this.#seen.get(key) === last) continue
      this.#seen.set(key, last)
      this.#followers.notify(key)
    }
    // Removed since.
    for (const key of keys) if (!found.has(key) && this.#seen.delete(key)) this.#followers.notify(key)
  }
}

// A message has no room for keys, and they may have spaces.
function hashOf(sessionKey: string): string {
  return createHash('sha256').update(sessionKey).digest('base64url').slice(0, 22)
}

// Plans are kept, also those made while a table was small. A transaction is sent as a whole: one that goes on no more is of a process that
// stands still, and others wait for what it has locked.
const LANE = `set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set enable_mergejoin = off; set idle_in_transaction_session_timeout = '3s'`

/** What a node needs of its database. */
export interface NodeHost {
  readonly options: PostgresOptions
  readonly connections: Connections
  readonly db: Kysely<Tables>
  /** Rejects while the database cannot be opened. */
  readonly ready: () => Promise<void>
}

/** A node, with the ports that only its messages make complete. */
export interface OpenedNode
  extends
    NodeParts,
    Pick<
      Backend,
      'log' | 'runs' | 'checkpoints' | 'sessionEntry' | 'writer' | 'reports' | 'control' | 'dispatch'
    > {
  /** The id of the process, once it has joined the others. @throws why it could not, after 5 seconds */
  joined(): Awaitable<string>
  /** Commits what is pending, gives up the lease and closes its connections. */
  close(): Promise<void>
}

/** This process as one node of several on the same database: its lease, its lane of writes, and its messages to the others. */
export function openNode({ options, connections, db, ready }: NodeHost): OpenedNode {
  const { schema, lease: times, outage, prepare, listenUrl } = options
  const table = (name: string) => `"${schema}"."${name}"`
  const connect = (config: ClientConfig) => async () => {
    await ready()
    const client = connections.createClient(config)
    await client.connect()
    return client
  }
  const pooled = { pool: connections.pool, ready, prepare }
  const query = createQuery(pooled, PATIENCE)
  // A pooler of transactions neither passes notifications nor keeps a lease apart from other work.
  const direct = listenUrl === undefined ? {} : { connectionString: listenUrl }
  const channel = new NodeChannel(connect({ ...direct, query_timeout: times.ttl }), schema)
  // A contact that fails must leave time for two more.
  const patience = Math.ceil(times.ttl / 4)
  const logs = new LocalLogs()
  const failovers = new Failovers({ logs, schema, table, nodeId: () => lease.nodeId })
  const lease: PostgresLease = new PostgresLease({
    failovers,
    connect: connect({ ...direct, query_timeout: patience, connectionTimeoutMillis: patience }),
    channel,
    query,
    table,
    onReleased: (runId) => {
      logs.disown(runId)
      wakeUps.announce(runId)
    },
    ...times
  })
  const connectLane = connect({ query_timeout: times.ttl, pipeline: true })
  const reports = new Reports(true)
  const lane = new Lane({
    reports,
    // A connection that does not answer is replaced before others take the runs.
    connect: async () => {
      const client = await connectLane()
      if (prepare) await client.query(LANE)
      await failovers.look(client)
      if (prepare && lease.nodeId !== '') await showAlive(client, lease.nodeId)
      return client
    },
    statements: createStatements(table),
    isPacked: () => lease.areAllCurrent,
    prepare,
    outage
  })
  const reads = createBatchReads(createQuery(pooled, outage), table('run_part'))
  const wakeUps = new WakeUps(logs, channel, query, table)
  const counters = new PostgresCounters(createQuery(pooled, 0), table('counter'))
  const entered = new EnteredSessions({ channel, query, table })
  const sessionEntry = createSessionEntry(lane, entered)
  const turns = new SessionTurns({ query, writer: lane, entry: sessionEntry, channel, lease, table })
  const log = createStreamLog({ writer: turns, logs, reads, wakeUps, lease })
  const dispatch = new SharedQueue({
    channel,
    // What failed may have begun runs.
    query: createQuery(pooled, 0),
    logs,
    claimant: { id: () => lease.joined() },
    table
  })
  lease.onLost(() => logs.disownAll())
  const readAnswer = async (inputId: string) => {
    const row = db.selectFrom('run_input').select('answer').where('input_id', '=', inputId)
    const { answer = null } = (await row.executeTakeFirst()) ?? {}
    return answer === null ? undefined : parseStored<InputOutcome>(answer)
  }
  return {
    lease,
    dispatch,
    counters,
    log,
    writer: lane,
    reports,
    runs: {
      ...createWrittenRuns({ db, writer: lane, log, logs, nodeId: () => lease.joined() }),
      ...createOwnedRuns({ logs, query, lease, table })
    },
    checkpoints: createWrittenCheckpoints(lane),
    sessions: {
      lock: (key, signal, holder, onPlace) => turns.lock(sessionKeyText(key), signal, holder, onPlace),
      place: (key, runId, ifFree) => turns.place(key, runId, ifFree),
      placesNewRuns: true,
      ordersWrites: true,
      places: (runIds) => turns.places(runIds)
    },
    newestMessages: createNewestMessages(query, table),
    forgetPlaces: (runIds) => turns.forget(runIds),
    sessionEntry,
    control: createSharedControlBus(channel, lease, readAnswer),
    joined: () => lease.joined(),
    async close() {
      await dispatch.close()
      await lane.close()
      await counters.close()
      await turns.close()
      await lease.leave()
      wakeUps.close()
      entered.close()
      await channel.close()
    }
  }
}
