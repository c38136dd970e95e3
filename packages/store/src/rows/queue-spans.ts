/** Runs of a span; more only if they were queued in the same millisecond, or with a clock that is behind. */
export const SPAN = 500

/** The spans of those that wait already. Runs of the same millisecond are in one. */
export function countSpans(span: string, run: string): string {
  return `insert into ${span} (owner, from_at, last_at, waiting)
    select owner, min(queued_at), max(queued_at), count(*) from (
      select owner, queued_at, min(place) over (partition by owner, queued_at) / ${SPAN} as part from (
        select owner, queued_at, row_number() over (partition by owner order by queued_at) - 1 as place
        from ${run} r where r.epoch = 0 and r.ended_at is null) p) w
    group by owner, part`
}
