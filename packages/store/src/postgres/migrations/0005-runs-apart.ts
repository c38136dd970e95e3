import { sql, type Kysely } from 'kysely'
import { PAIR_BYTES } from '../../rows/metadata-pairs.ts'
import { COUNTED_TOGETHER } from '../run-totals.ts'

/**
 * What changes with a run's state moves out of the indexes of `run`, so that its updates stay on their pages: `run_open` has the unfinished
 * runs, `run_end` the finished ones, each once. `run_metadata` has the metadata of runs, a row for each key with its value, so that a filter
 * reads only what it finds. Triggers keep all three, also for nodes that know nothing of them.
 */
export async function keepRunsApart(db: Kysely<unknown>, schema: string): Promise<void> {
  for (const statement of statements(schema)) await sql.raw(statement).execute(db)
}

const KEYS = ['run_id', 'registry', 'kind', 'name', 'session_id', 'owner', 'user_id', 'created_at']
const CHANGES = ['updated_at', 'status']
// What changes with a lease, but not with each state.
const OWNERSHIP = ['epoch', 'node_id', 'queued_at']
// The others are in the row of the run, which whatever reads its state looks up.
const OPEN = ['run_id', 'owner', 'created_at', ...OWNERSHIP]
const STATE = [...KEYS, ...CHANGES]
const END = [...STATE, 'bytes', 'file_bytes']
const WATCHED = ['ended_at', ...OWNERSHIP, 'file_bytes']
// A run changes no more once it has ended.
const atEnd = (name: string) => (name === 'updated_at' ? 'ended_at' : name)
// What these have indexed is found by the new tables, or by other indexes.
const REPLACED = [
  'run_start',
  'run_newest',
  'run_changed',
  'run_ended',
  'run_not_completed',
  'run_of_node',
  'run_of_owner',
  'run_with_files',
  'run_waiting',
  'run_place',
  'run_from_queue',
  'run_with_metadata'
]
const LISTED = ['run', 'run_end', 'run_metadata', 'session']
// Rows that live for seconds: many are dead at any time, however many there are.
const SHORT_LIVED = ['run_open', 'run_step', 'checkpoint', 'session_turn', 'webhook_delivery', 'queue_span']

// A key with its value, as JSON has them. Postgres would refuse to parse a value with an escaped NUL.
const PAIR = String.raw`"(?:[^"\\]|\\.)*":"(?:[^"\\]|\\.)*"`

function statements(schema: string): string[] {
  const id = 'text collate "C"'
  const table = (name: string) => `"${schema}".${name}`
  const index = (name: string, on: string) => `create index ${name} on "${schema}".${on}`
  const add = (to: string, names: readonly string[], values: string) =>
    `insert into ${table(to)} (${names.join(', ')}) ${values}`
  const addOpen = add('run_open', OPEN, `values (${OPEN.map((name) => `new.${name}`).join(', ')})`)
  const addEnded = add('run_end', END, `values (${END.map((name) => `new.${atEnd(name)}`).join(', ')})`)
  const openOfOld = 'owner = old.owner and created_at = old.created_at and run_id = old.run_id'
  const ofOld = 'session_id = old.session_id and updated_at = old.ended_at and run_id = old.run_id'
  const countAgain = `delete from ${table('run_total')} where span = old.ended_at / ${COUNTED_TOGETHER};`
  const pairsOf = (text: string) => `"${schema}".metadata_pairs(${text})`
  const labelled = ['owner', 'created_at', 'run_id', 'registry', 'kind', 'name']
  const addMetadata = (of: string, from: string) =>
    add(
      'run_metadata',
      [...labelled, 'pair'],
      `select ${labelled.map((name) => `${of}.${name}`).join(', ')}, pair from ${from}${pairsOf(`${of}.metadata`)} pair`
    )
  const trigger = (name: string, when: string, body: string) => [
    `create function "${schema}".${name}() returns trigger language plpgsql as $$ begin ${body} return null; end $$`,
    `create trigger ${name} after ${when} execute function "${schema}".${name}()`
  ]
  const changed = WATCHED.map((name) => `old.${name} is distinct from new.${name}`).join(' or ')
  const run = table('run')
  return [
    `lock table ${run} in access exclusive mode`,
    `create table ${table('run_open')} (run_id ${id} not null, owner ${id} not null, created_at bigint not null, epoch integer not null,
      node_id ${id}, queued_at bigint) with (fillfactor = 70)`,
    `create table ${table('run_end')} (run_id ${id} not null, registry ${id} not null, kind ${id} not null, name ${id} not null,
      session_id ${id} not null, owner ${id} not null, user_id ${id}, created_at bigint not null, updated_at bigint not null, status ${id} not null,
      bytes bigint not null, file_bytes bigint not null)`,
    // The first bytes of a digest: an index cannot have values of any length.
    `create function "${schema}".metadata_pairs(metadata text) returns setof bytea language sql immutable strict as $$
      select distinct substr(sha256(convert_to(found[1], 'UTF8')), 1, ${PAIR_BYTES}) from regexp_matches(metadata, '${PAIR}', 'g') found $$`,
    `create table ${table('run_metadata')} (owner ${id} not null, pair bytea not null, created_at bigint not null, run_id ${id} not null,
      registry ${id} not null, kind ${id} not null, name ${id} not null)`,
    addMetadata('r', `${run} r cross join lateral `),
    `alter table ${table('run_metadata')} add primary key (owner, pair, created_at, run_id) include (registry, kind, name)`,
    add('run_open', OPEN, `select ${OPEN.join(', ')} from ${run} where ended_at is null`),
    add(
      'run_end',
      END,
      `select ${END.map(atEnd).join(', ')} from ${run} where ended_at is not null order by ended_at`
    ),
    `create table ${table('run_total')} (span bigint primary key, runs bigint not null, bytes bigint not null, file_bytes bigint not null,
      counted_at timestamptz not null)`,
    `alter table ${table('run_open')} add primary key (owner, created_at, run_id)`,
    index('run_open_of_node', 'run_open (node_id)'),
    index('run_end_changed', 'run_end (owner, updated_at, run_id)'),
    index('run_end_of_session', 'run_end (session_id, updated_at, run_id)'),
    index('run_end_oldest', 'run_end (updated_at)'),
    index('run_end_not_completed', `run_end (owner, created_at, run_id) where status <> 'completed'`),
    index('run_end_with_files', 'run_end (updated_at) where file_bytes > 0'),
    // The state of an unfinished run is in its row only; worded so that only the index of ids serves it.
    `create view ${table('run_unfinished')} as select ${STATE.map((name) => `${OPEN.includes(name) ? 'o' : 'r'}.${name}`).join(', ')}
      from ${table('run_open')} o cross join lateral (
        select ${STATE.map((name) => `r.${name}`).join(', ')} from ${run} r where r.run_id = o.run_id limit 1) r`,
    `create view ${table('run_change')} as select ${STATE.join(', ')} from ${table('run_unfinished')}
      union all select ${STATE.join(', ')} from ${table('run_end')}`,
    ...trigger(
      'run_added',
      `insert on ${run} for each row`,
      `if new.ended_at is null then ${addOpen}; else ${addEnded}; end if;
      if new.metadata is not null then ${addMetadata('new', '')}; end if;`
    ),
    ...trigger(
      'run_went_on',
      `update of ${WATCHED.join(', ')} on ${run} for each row
        when (${changed})`,
      `if new.ended_at is null then
        update ${table('run_open')} set ${OWNERSHIP.map((name) => `${name} = new.${name}`).join(', ')} where ${openOfOld};
      elsif old.ended_at is null then
        delete from ${table('run_open')} where ${openOfOld};
        ${addEnded};
      else
        update ${table('run_end')} set file_bytes = new.file_bytes where ${ofOld};
        ${countAgain}
      end if;`
    ),
    ...trigger(
      'run_removed',
      `delete on ${run} for each row`,
      `if old.ended_at is null then delete from ${table('run_open')} where ${openOfOld};
      else
        delete from ${table('run_end')} where ${ofOld};
        ${countAgain}
      end if;
      if old.metadata is not null then
        delete from ${table('run_metadata')} where pair = any(array(select ${pairsOf('old.metadata')})) and ${openOfOld};
      end if;`
    ),
    ...REPLACED.map((name) => `drop index ${table(name)}`),
    // A run that has ended has had an epoch.
    index('run_waiting', 'run (registry, kind, name, owner, queued_at, run_id) where epoch = 0'),
    index('run_place', 'run (owner, queued_at, run_id) where epoch = 0'),
    index('run_open_from_queue', 'run_open (owner) where queued_at is not null and epoch > 0'),
    index('run_newest', 'run (owner, created_at, run_id, registry, kind, name)'),
    index('run_named', 'run (owner, name, created_at, run_id, registry, kind)'),
    // The key comes first, since no other index may serve its search: they have all runs of an owner.
    `create unique index run_start on ${run} (start_key, owner, registry) where start_key is not null`,
    // A ticket is found by its holder, with or without the session: the lock of the session keeps its tickets unique.
    `create index session_turn_of_holder on ${table('session_turn')} (holder)`,
    `drop index ${table('session_turn_holder')}`,
    `alter table ${table('session_turn')} drop constraint session_turn_session_key_holder_key`,
    // The id of a turn finds its few messages without their session.
    index('session_message_of_turn', 'session_message (turn_id)'),
    `drop index ${table('session_message_turn')}`,
    // The sweep looks at a session in use once in the time for which unused ones are kept.
    `alter table ${table('session')} add column checked_at bigint`,
    // Each turn changes a session twice. The half minute of a change is the same both times for most, so that no index has to know.
    `alter table ${table('session')} add column updated_slot bigint generated always as (updated_at >> 15) stored`,
    index('session_newest', 'session (owner, updated_slot) where listed = 1'),
    index('session_named', 'session (owner, registry, kind, name, updated_slot) where listed > 0'),
    `drop index ${table('session_listed')}`,
    index('session_aged', 'session ((coalesce(checked_at, created_at)))'),
    `drop index ${table('session_oldest')}`,
    index('webhook_delivery_of_registry', 'webhook_delivery (registry, seq)'),
    index('webhook_created', 'webhook (created_at, webhook_id) where run_id is null'),
    // A run has a result when it ends, and its row is then up to five times as large: with less room it would move to another page, and change all indexes.
    `alter table ${run} set (fillfactor = 18)`,
    // On the same page only what is new is logged.
    `alter table ${table('session')} set (fillfactor = 50)`,
    // Lists read an index alone as far as a vacuum has seen the pages of its rows; by default it comes when a fifth of them is new.
    ...LISTED.map((name) => `alter table ${table(name)} set (autovacuum_vacuum_insert_scale_factor = 0.02)`),
    ...SHORT_LIVED.map(
      (name) =>
        `alter table ${table(name)} set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)`
    )
  ]
}
