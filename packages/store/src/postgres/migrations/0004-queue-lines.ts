import { sql, type Kysely } from 'kysely'
import { countSpans, SPAN } from '../../rows/queue-spans.ts'

/**
 * The lines of the queue. A waiting run is in the line of its owner and runnable; a line without waiting runs has no row. `busy` is how many
 * runs from the queue its owner had in progress when it was last counted, `head_at` when its first run was queued: an index on both has the
 * next line first. Lines of an owner change only while its row in `queue_owner` is locked; the trigger adds them when a transaction commits
 * that lets a run wait, so also for nodes that know nothing of lines.
 *
 * `queue_span` counts what waits of an owner, from one instant to before the next: the place of a run is the sum of the spans before its own,
 * and its place in that one. Each is full at some hundred runs, and triggers keep them, when a transaction commits.
 */
export async function addQueueLines(db: Kysely<unknown>, schema: string): Promise<void> {
  for (const statement of statements(schema)) await sql.raw(statement).execute(db)
}

// Plans are kept, also those made while a table was small.
const ONLY_BY_INDEX = `set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off`
// More runs in progress are not counted for an owner without a limit.
const MAX_COUNTED = 1_000

const WAITS = 'r.epoch = 0 and r.ended_at is null'

// Worded so that only the primary key serves it.
const isLine = (of: string, other: string) =>
  `l.owner = ${of} and (l.registry, l.kind, l.name) is not distinct from (${other}.registry, ${other}.kind, ${other}.name)`

// The waiting runs of a line, in their order; worded so that only the index of lines serves it.
const inLine = (line: string, owner: string) => {
  const at = (queuedAt: string) =>
    `(${line}.registry, ${line}.kind, ${line}.name, ${owner}.owner, ${queuedAt})`
  return `(r.registry, r.kind, r.name, r.owner, r.queued_at) between ${at('0')} and ${at(`${Number.MAX_SAFE_INTEGER}`)}
    and ${WAITS} order by r.registry, r.kind, r.name, r.owner, r.queued_at, r.run_id`
}

// The runs from the queue that an owner has in progress, of these unfinished ones.
function countText(unfinished: string, of: string, most: string): string {
  return `(select count(*)::int from (
    select from ${unfinished} r where r.owner = ${of} and r.queued_at is not null and r.epoch > 0 limit ${most}) b)`
}

function statements(schema: string): string[] {
  const id = 'text collate "C"'
  const table = (name: string) => `"${schema}".${name}`
  const [run, line, owner, span] = ['run', 'queue_line', 'queue_owner', 'queue_span'].map(table)
  // The span of a run.
  const spanOf = (of: string) => `s.owner = ${of}.owner and s.from_at = (select p.from_at from ${span} p
    where p.owner = ${of}.owner and p.from_at <= ${of}.queued_at order by p.from_at desc limit 1)`
  const key = ['registry', 'kind', 'name', 'owner']
  const keyOf = (of: string) => key.map((column) => `${of}.${column}`).join(', ')
  // What the functions count is a table of the next migration.
  const busy = (of: string, most: string) => countText(table('run_open'), of, most)
  const known = `k as (select * from unnest(registries, kinds, names) as k(registry, kind, name))`
  const inKnown = 'l.registry = k.registry and l.kind = k.kind and l.name = k.name'
  // The first lines whose owners are below the limit, and those of the owner without one.
  const first = (count: string, lock: string) =>
    `${known}, a as (
      select f.* from k cross join lateral (
        select l.owner, l.busy, l.head_at from ${line} l join ${owner} o on o.owner = l.owner
        where ${inKnown} and l.busy < per_owner order by l.busy, l.head_at limit ${count} ${lock}) f
      union all
      select f.* from k cross join lateral (
        select l.owner, l.busy, l.head_at from ${line} l join ${owner} o on o.owner = l.owner
        where ${isLine('unlimited', 'k')} ${lock}) f
    ), f as (select owner from a group by owner order by min(busy), min(head_at) limit ${count})`
  return [
    `create table ${owner} (owner ${id} primary key)`,
    `create table ${line} (${key.map((column) => `${column} ${id} not null`).join(', ')}, busy integer not null, head_at bigint not null,
      primary key (owner, registry, kind, name))`,
    `create table ${span} (owner ${id} not null, from_at bigint not null, last_at bigint not null, waiting integer not null,
      primary key (owner, from_at)) with (fillfactor = 50)`,
    `create index queue_line_next on ${line} (registry, kind, name, busy, head_at)`,
    `create index queue_line_busy on ${line} (owner) where busy > 0`,
    `create function "${schema}".queue_join() returns trigger language plpgsql ${ONLY_BY_INDEX} as $$
      begin
        insert into ${owner} (owner) values (new.owner) on conflict (owner) do update set owner = excluded.owner where false;
        if not exists (select from ${line} l where ${isLine('new.owner', 'new')}) then
          insert into ${line} values (new.registry, new.kind, new.name, new.owner, ${busy('new.owner', String(MAX_COUNTED))}, new.queued_at);
        end if;
        if tg_op = 'INSERT' or old.epoch <> 0 then
          update ${span} s set waiting = s.waiting + 1, last_at = greatest(s.last_at, new.queued_at)
            where ${spanOf('new')} and (s.waiting < ${SPAN} or s.last_at >= new.queued_at);
          if not found then
            insert into ${span} values (new.owner, new.queued_at, new.queued_at, 1);
          end if;
        end if;
        return null;
      end $$`,
    // A run may leave while its owner is not locked: no other transaction removes a span that counts it.
    `create function "${schema}".queue_leave() returns trigger language plpgsql ${ONLY_BY_INDEX} as $$
      begin
        if tg_op = 'DELETE' or new.epoch <> 0 or new.ended_at is not null then
          update ${span} s set waiting = s.waiting - 1 where ${spanOf('old')};
        end if;
        return null;
      end $$`,
    `create constraint trigger queue_join after insert or update of epoch on ${run} deferrable initially deferred
      for each row when (new.epoch = 0 and new.ended_at is null) execute function "${schema}".queue_join()`,
    // At the end of the transaction: one that holds a span waits for no row of a run.
    `create constraint trigger queue_leave after update of epoch, ended_at or delete on ${run} deferrable initially deferred
      for each row when (old.epoch = 0 and old.ended_at is null) execute function "${schema}".queue_leave()`,
    // Those that wait already; the trigger keeps others from adding any until this is committed.
    `insert into ${owner} select distinct owner from ${run} r where ${WAITS}`,
    `insert into ${line} select registry, kind, name, owner, ${countText(`(select * from ${run} where ended_at is null)`, 'w.owner', String(MAX_COUNTED))}, head_at
      from (select registry, kind, name, owner, min(queued_at) as head_at from ${run} r where ${WAITS} group by 1, 2, 3, 4) w`,
    countSpans(span!, run!),
    // Begins at most `most` runs. First it counts again what the owners of runs that have ended, and other given owners, have in progress. Each
    // of its statements sees what was committed before it: what is read of an owner is read after it was locked. It waits for a lock only
    // while it has none, or in the order of owners. Besides runs it returns `again` if others had locked what may begin, and `left` if it has
    // begun none although one of the counted owners has a run that may begin.
    `create function "${schema}".queue_take(most integer, per_owner bigint, unlimited text, node text, at bigint,
        registries text[], kinds text[], names text[], ended text[], recounted text[])
      returns table (note text, run_id text, registry text, kind text, name text, owner text) language plpgsql ${ONLY_BY_INDEX} as $$
      #variable_conflict use_column
      declare
        counted constant bigint := greatest(per_owner, ${MAX_COUNTED});
        freed text[];
        locked text[];
        best text;
        begun integer := 0;
        total integer := 0;
      begin
        if ended <> '{}' or recounted <> '{}' then
          select array_agg(l.owner) into freed from (
            select o.owner from ${owner} o where o.owner = any(recounted || array(
              select r.owner from ${run} r where r.run_id = any(ended) and r.queued_at is not null))
            order by o.owner for update) l;
          locked := freed;
        end if;
        loop
          if locked is not null then
            with o as (select o.owner, ${busy('o.owner', 'counted')} as busy from (select distinct unnest(locked) as owner) o),
            s as (select ${keyOf('l')}, o.busy, (
                select r.queued_at from ${run} r where ${inLine('l', 'l')} limit 1) as head_at
              from o join ${line} l on l.owner = o.owner),
            d as (delete from ${line} l using s where s.head_at is null and ${isLine('s.owner', 's')})
            update ${line} l set busy = s.busy, head_at = s.head_at from s
            where s.head_at is not null and ${isLine('s.owner', 's')} and (l.busy <> s.busy or l.head_at <> s.head_at);
            delete from ${owner} o where o.owner = any(locked) and not exists (select from ${line} l where l.owner = o.owner);
            delete from ${span} s where s.owner = any(locked)
              and (s.waiting <= 0 or (select 1 from ${owner} o where o.owner = s.owner limit 1) is null);
            locked := null;
          end if;
          best := null;
          if total < most and exists (select from ${line}) then
            with ${first('(most - total)', 'for update of o skip locked')} select locked || array_agg(f.owner), min(f.owner) into locked, best from f;
            if best is null then
              with ${first('1', '')} select f.owner into best from f;
              if best is not null and freed is null and total = 0 then
                perform from ${owner} o where o.owner = best for update;
                continue;
              elsif best is not null then
                return query select 'again', null, null, null, null, null;
                best := null;
              end if;
            end if;
          end if;
          exit when best is null;
          return query
            with ${known},
            o as (select o.owner, ${busy('o.owner', 'counted')} as busy from (select distinct unnest(locked) as owner) o),
            w as (
              select r.run_id, r.queued_at, o.busy + row_number() over (partition by o.owner order by r.queued_at, r.run_id) as place, o.owner
              from o cross join k cross join lateral (
                select r.run_id, r.queued_at from ${run} r
                where ${inLine('k', 'o')} limit most - total) r
            ),
            n as (select w.run_id from w where w.place <= per_owner or w.owner = unlimited
              order by w.place, w.queued_at, w.run_id limit most - total)
            update ${run} r set epoch = 1, node_id = node, status = 'working', updated_at = at from n
            where r.run_id = n.run_id and coalesce(r.epoch, 0) = 0 and coalesce(r.ended_at, 0) = 0
            returning null::text, r.run_id, r.registry, r.kind, r.name, r.owner;
          get diagnostics begun = row_count;
          total := total + begun;
        end loop;
        if total = 0 and exists (select from ${line} l where l.owner = any(freed) and l.busy < per_owner) then
          return query select 'left', null, null, null, null, null;
        end if;
      end $$`
  ]
}
