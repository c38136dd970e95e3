import { sql, type Kysely } from 'kysely'
import { countSpans, SPAN } from '../../rows/queue-spans.ts'

/**
 * The lines of the queue: the waiting runs of an owner and a runnable. `busy` is how many runs from the queue the owner has in progress,
 * `head_at` when the first of the line was queued: an index on both has the next line first. Triggers keep them; a line without waiting
 * runs has no row. `queue_span` counts what waits of an owner, from one instant to before the next: the place of a run is the sum of the
 * spans before its own, and its place in that one.
 */
export async function addQueueLines(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const KEY = 'registry, kind, name, owner'
const WAITS = 'epoch = 0 and ended_at is null'

const countBusy = (owner: string) =>
  `(select count(*) from run where owner = ${owner} and queued_at is not null and epoch > 0 and ended_at is null)`

const move = (run: string) => `
  update queue_line set busy = ${countBusy(`${run}.owner`)},
    head_at = (select min(r.queued_at) from run r where r.registry = queue_line.registry and r.kind = queue_line.kind
      and r.name = queue_line.name and r.owner = queue_line.owner and r.epoch = 0 and r.ended_at is null)
    where owner = ${run}.owner;
  delete from queue_line where owner = ${run}.owner and head_at is null;`

const join = `
  insert or ignore into queue_line (${KEY}, busy)
    select new.registry, new.kind, new.name, new.owner, 0 where new.epoch = 0 and new.ended_at is null;`

const spanOf = (run: string) => `owner = ${run}.owner and from_at = (select max(from_at) from queue_span
  where owner = ${run}.owner and from_at <= ${run}.queued_at)`

const enterSpan = `
  insert into queue_span select new.owner, new.queued_at, new.queued_at, 0 where coalesce((
    select waiting >= ${SPAN} and last_at < new.queued_at from queue_span
    where owner = new.owner and from_at <= new.queued_at order by from_at desc limit 1), 1);
  update queue_span set waiting = waiting + 1, last_at = max(last_at, new.queued_at) where ${spanOf('new')};`

const leaveSpan = `
  update queue_span set waiting = waiting - 1 where ${spanOf('old')};
  delete from queue_span where owner = old.owner and waiting <= 0;`

const isWaiting = (run: string) => `${run}.epoch = 0 and ${run}.ended_at is null`

const STATEMENTS = [
  `create table queue_line (registry text not null, kind text not null, name text not null, owner text not null, busy integer not null,
    head_at integer, primary key (owner, registry, kind, name)) without rowid`,
  'create index queue_line_next on queue_line (registry, kind, name, busy, head_at)',
  `insert into queue_line select ${KEY}, ${countBusy('w.owner')}, head_at
    from (select ${KEY}, min(queued_at) as head_at from run where ${WAITS} group by ${KEY}) w`,
  `create table queue_span (owner text not null, from_at integer not null, last_at integer not null, waiting integer not null,
    primary key (owner, from_at)) without rowid`,
  countSpans('queue_span', 'run'),
  `create trigger queue_span_join after insert on run when ${isWaiting('new')} begin ${enterSpan} end`,
  `create trigger queue_span_return after update of epoch on run when ${isWaiting('new')} and old.epoch <> 0 begin ${enterSpan} end`,
  `create trigger queue_span_leave after update of epoch, ended_at on run
    when ${isWaiting('old')} and not (${isWaiting('new')}) begin ${leaveSpan} end`,
  `create trigger queue_span_remove after delete on run when ${isWaiting('old')} begin ${leaveSpan} end`,
  `create trigger queue_join after insert on run when new.epoch = 0 and new.ended_at is null begin ${join} ${move('new')} end`,
  `create trigger queue_move after update of epoch, queued_at, ended_at on run
    when new.queued_at is not null and (old.epoch is not new.epoch or old.ended_at is not new.ended_at)
    begin ${join} ${move('new')} end`,
  `create trigger queue_leave after delete on run when old.queued_at is not null and old.ended_at is null begin ${move('old')} end`
]
