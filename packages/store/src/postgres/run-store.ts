import { RUN_FORMAT, type LeftRun, type RunStore } from '@svc/contract'
import { REG_ERR_BAD_CURSOR } from '@svc/contract/errors'
import { PART_BYTES } from '../rows/run-rows.ts'
import type { LocalLogs } from '../runs/local-logs.ts'
import { insertSkip } from './nodes/failovers.ts'
import type { PostgresLease } from './nodes/node-lease.ts'
import type { Query } from './query.ts'

/** What the runs of a node need. */
export interface RunHost {
  readonly logs: LocalLogs
  readonly query: Query
  readonly lease: Pick<PostgresLease, 'nodeId' | 'joined'>
  /** Quotes the name of a table, with its schema. */
  readonly table: (name: string) => string
}

/** The part of a run store that says which node has a run. */
export type OwnedRuns = Pick<RunStore, 'lease' | 'listLeft'>

const CURSOR = /^[\da-f]{32}$/

/** Runs of the nodes of a service: a node has the runs that it creates or leases, as long as it lives. */
export function createOwnedRuns(host: RunHost): OwnedRuns {
  const { logs, query, lease } = host
  const statements = createStatements(host.table)
  return {
    async lease(runId) {
      const [leased] = await query<{ epoch: number }>('svc lease', statements.lease, [
        runId,
        await lease.joined()
      ])
      if (leased !== undefined) logs.own(runId, false)
      return leased?.epoch
    },
    async listLeft({ limit, cursor = '' }) {
      if (cursor !== '' && !CURSOR.test(cursor)) throw new REG_ERR_BAD_CURSOR()
      const values = [lease.nodeId, cursor, limit + 1]
      const rows = await query<Omit<LeftRun, 'runId'> & { run_id: string; place: string }>(
        'svc left',
        statements.left,
        values
      )
      const page = rows.slice(0, limit)
      return {
        runs: page.map(({ run_id: runId, place: _, ...run }) => ({ runId, ...run })),
        nextCursor: rows.length > limit ? page.at(-1)!.place : null
      }
    }
  }
}

function createStatements(table: (name: string) => string) {
  const [run, open, node] = [table('run'), table('run_open'), table('node')]
  const isKnown = `coalesce(r.format, 1) <= ${RUN_FORMAT}`
  const size = (name: string, json: string, extra: number) =>
    `coalesce((select sum(octet_length(${json}) + ${extra}) from ${table(name)} x where x.run_id = r.run_id), 0)`
  return {
    // Its size is the log's again, since the last appends of its node may not have been counted. After a failover readers may have parts that
    // the log has not, unless they are those of its own node.
    lease: `with o as (select node_id, restored from ${run} where run_id = $1 for update),
      r as (update ${run} r set epoch = r.epoch + 1, node_id = $2, restored = null,
        bytes = case when r.node_id = $2 then r.bytes
          else ${size('run_part', 'x.json', PART_BYTES)} + ${size('run_step', 'x.output', 0)} + ${size('run_value', 'x.json', 0)} end
      from o where r.run_id = $1 and r.ended_at is null and ${isKnown}
        and (r.node_id is null or r.node_id = $2 or not exists (select from ${node} n where n.node_id = r.node_id))
      returning r.run_id, r.epoch, o.restored and o.node_id is distinct from $2 as skips),
      i as (${insertSkip(table('run_part'), 'r where r.skips')})
      select epoch from r`,
    // The nodes that have runs, one look at the index for each; then the runs of those that are gone, in another order for each node.
    left: `with recursive had(node_id) as (
        (select node_id from ${open} where node_id is not null order by node_id limit 1)
        union all
        select (select r.node_id from ${open} r where r.node_id > had.node_id order by r.node_id limit 1)
        from had where had.node_id is not null
      ), gone as (
        select node_id from had where node_id is not null and not exists (select from ${node} n where n.node_id = had.node_id)
      ), left_runs as (
        select r.* from ${open} r join gone using (node_id)
        union all
        select r.* from ${open} r where r.node_id is null and r.epoch > 0
      ), page as (select *, md5(run_id || $1) as place from left_runs l where md5(run_id || $1) > $2
          and (select ${isKnown} from ${run} r where r.run_id = l.run_id) order by place limit $3)
      select p.run_id, r.registry, r.kind, r.name, p.owner, p.place, r.cancel_at is not null as "cancelRequested",
        (select octet_length(c.state) from ${table('checkpoint')} c where c.run_id = p.run_id) as "checkpointBytes"
      from page p cross join lateral (select * from ${run} r where r.run_id = p.run_id limit 1) r order by p.place`
  }
}
