import { sessionKeyText, type Awaitable, type InputOutcome, type RunLog } from '@svc/contract'
import type { ClientConfig } from 'pg'
import type { Kysely } from 'kysely'
import type { Backend, NodeParts } from '../backend.ts'
import { PATIENCE } from '../commit.ts'
import { parseStored } from '../encoding/stored-values.ts'
import type { PostgresOptions } from '../options.ts'
import type { Tables } from '../tables.ts'
import { PostgresCounters } from './counter-store.ts'
import { Lane } from './lane/lane.ts'
import { createStatements } from './lane/statements.ts'
import { BatchReads } from './log/batch-reads.ts'
import { LocalLogs } from '../runs/local-logs.ts'
import { createWrittenCheckpoints, createWrittenRuns } from '../runs/written-runs.ts'
import { Reports } from '../runs/run-write.ts'
import { createSessionEntry } from '../runs/session-entry.ts'
import { createStreamLog } from '../runs/stream-log.ts'
import { WakeUps } from './log/wake-ups.ts'
import { createSharedControlBus } from './nodes/control-bus.ts'
import { NodeChannel } from './nodes/node-channel.ts'
import { PostgresLease } from './nodes/node-lease.ts'
import { EnteredSessions } from './nodes/entered-sessions.ts'
import { SessionTurns } from './nodes/session-turns.ts'
import type { Connections } from './open-pool.ts'
import { JobQueue } from './queue/job-queue.ts'
import { createQuery, createTransact } from './query.ts'
import { createOwnedRuns } from './run-store.ts'

const ONLY_BY_INDEX = 'set enable_seqscan = off; set enable_mergejoin = off'

/** What a node needs of its database. */
export interface NodeHost {
  readonly options: PostgresOptions
  readonly connections: Connections
  readonly db: Kysely<Tables>
  /** Rejects while the database cannot be opened. */
  readonly ready: () => Promise<void>
  readonly logger: Pick<RunLog, 'error'>
}

/** A node, with the ports that only its messages make complete. */
export interface OpenedNode
  extends
    NodeParts,
    Pick<Backend, 'log' | 'runs' | 'checkpoints' | 'sessionEntry' | 'reports' | 'control' | 'dispatch'> {
  /** The id of the process, once it has joined the others. @throws why it could not, after 5 seconds */
  joined(): Awaitable<string>
  /** Commits what is pending, gives up the lease and closes its connections. */
  close(): Promise<void>
}

/** This process as one node of several on the same database: its lease, its lane of writes, and its messages to the others. */
export function openNode({ options, connections, db, ready, logger }: NodeHost): OpenedNode {
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
  const transact = createTransact(pooled, PATIENCE)
  // A pooler of transactions neither passes notifications nor keeps a lease apart from other work.
  const direct = listenUrl === undefined ? {} : { connectionString: listenUrl }
  const channel = new NodeChannel(connect({ ...direct, query_timeout: times.ttl }), schema)
  // A contact that fails must leave time for two more.
  const patience = Math.ceil(times.ttl / 4)
  const lease = new PostgresLease({
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
      // Plans are kept, also those made while a table was small.
      if (prepare) await client.query(ONLY_BY_INDEX)
      return client
    },
    statements: createStatements(table),
    prepare,
    outage
  })
  const logs = new LocalLogs()
  const reads = new BatchReads(createQuery(pooled, outage), table('run_part'))
  const wakeUps = new WakeUps(logs, channel, query, table)
  const counters = new PostgresCounters(createQuery(pooled, 0), table('counter'))
  const log = createStreamLog({ writer: lane, logs, reads, wakeUps })
  const turns = new SessionTurns({ query, transact, channel, lease, table })
  const entered = new EnteredSessions({ channel, query, table })
  const dispatch = new JobQueue({ options, connections, query, logs, table, ready, logger })
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
    reports,
    runs: {
      ...createWrittenRuns({ db, writer: lane, log, logs, nodeId: () => lease.joined() }),
      ...createOwnedRuns({ logs, query, lease, table })
    },
    checkpoints: createWrittenCheckpoints(lane),
    sessions: {
      lock: (key, signal, holder, onPlace) => turns.lock(sessionKeyText(key), signal, holder, onPlace),
      place: (key, runId, ifFree) => turns.place(sessionKeyText(key), runId, ifFree),
      places: (runIds) => turns.places(runIds)
    },
    forgetPlaces: (runIds) => turns.forget(runIds),
    sessionEntry: createSessionEntry(lane, entered),
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
