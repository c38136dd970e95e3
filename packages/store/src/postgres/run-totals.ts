import type { EndedRuns } from '../backend.ts'
import type { Query } from './query.ts'

/** Milliseconds in which the runs that one row counts ended. */
export const COUNTED_TOGETHER = 600_000
// Of spans before the current one: a run may be stored some time after its end.
const OPEN_SPANS = 1

/**
 * Counts finished runs by the spans of time in which they ended: each is counted once it is over and kept in `run_total`, so that a count
 * reads the newest runs only. The removal of a run makes its span be counted again; so does a day, in case that a run was stored late.
 */
export function createRunTotals(query: Query, schema: string): (now: number) => Promise<EndedRuns> {
  const text = countText((name) => `"${schema}".${name}`)
  return async (now) => {
    const [found] = await query<EndedRuns>('svc totals', text, [
      Math.floor(now / COUNTED_TOGETHER) - OPEN_SPANS
    ])
    return found!
  }
}

function countText(table: (name: string) => string): string {
  const [end, total] = [table('run_end'), table('run_total')]
  const length = COUNTED_TOGETHER
  const first = (after: string) =>
    `(select e.updated_at / ${length} from ${end} e ${after} order by e.updated_at limit 1)`
  const sums =
    'count(*)::bigint as runs, coalesce(sum(e.bytes), 0)::bigint as bytes, coalesce(sum(e.file_bytes), 0)::bigint as file_bytes'
  // One look at the index for each span that has runs.
  return `with recursive spans(span) as (
      select ${first('')}
      union all
      select ${first(`where e.updated_at >= (s.span + 1) * ${length}`)} from spans s where s.span < $1::bigint - 1
    ), d as (delete from ${total} t where t.span < (select min(span) from spans)),
    k as (select t.* from spans s join ${total} t using (span) where s.span < $1::bigint and t.counted_at >= clock_timestamp() - interval '1 day'),
    c as (select s.span, e.* from spans s cross join lateral (
        select ${sums} from ${end} e where e.updated_at >= s.span * ${length} and e.updated_at < (s.span + 1) * ${length}) e
      where s.span < $1::bigint and not exists (select from k where k.span = s.span)),
    n as (select ${sums} from ${end} e where e.updated_at >= $1::bigint * ${length}),
    i as (insert into ${total} (span, runs, bytes, file_bytes, counted_at)
      select span, runs, bytes, file_bytes, clock_timestamp() from c
      on conflict (span) do update set runs = excluded.runs, bytes = excluded.bytes, file_bytes = excluded.file_bytes, counted_at = excluded.counted_at),
    a as (select runs, bytes, file_bytes from k union all select runs, bytes, file_bytes from c union all select runs, bytes, file_bytes from n)
    select sum(runs)::bigint as runs, sum(bytes)::bigint as bytes, sum(file_bytes)::bigint as "fileBytes" from a`
}
