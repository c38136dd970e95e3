import { sql, type Kysely } from 'kysely'
import { createFirstDays } from '../run-days.ts'

/**
 * The tables, as `tables.ts` describes them. Ids compare byte by byte. Rows of runs have no foreign keys, which would double the cost of each
 * append, and no index that an append would have to change.
 */
export async function createFirstTables(db: Kysely<unknown>, schema: string): Promise<void> {
  const send = (statement: string) => sql.raw(statement).execute(db)
  await send(statements(schema).join(';\n'))
  await createFirstDays(send, schema, Date.now())
}

function statements(schema: string): string[] {
  const id = 'text collate "C"'
  const table = (name: string, columns: string) => `create table "${schema}".${name} (${columns})`
  const index = (name: string, on: string) => `create index ${name} on "${schema}".${on}`
  return [
    table(
      'run',
      `run_id ${id} primary key, registry ${id} not null, kind ${id} not null, name ${id} not null, session_id ${id} not null,
       owner ${id} not null, user_id ${id}, start_key ${id}, start_hash text, metadata text, created_at bigint not null, updated_at bigint not null,
       status ${id} not null, epoch integer not null, result text, error text, bytes bigint not null, ended_at bigint, preview text,
       file_bytes bigint not null default 0, node_id ${id}, cancel_at timestamptz, queued_at bigint, left_turn text`
    ) + ' with (fillfactor = 80)',
    `create unique index run_start on "${schema}".run (owner, registry, start_key) where start_key is not null`,
    index('run_newest', 'run (owner, created_at, run_id, status, registry, kind, name)'),
    index('run_created', 'run (created_at, run_id, registry, kind, name)'),
    index('run_changed', 'run (owner, updated_at, run_id, status, session_id, registry, kind, name)'),
    index('run_with_metadata', 'run (owner, created_at, run_id) where metadata is not null'),
    index('run_of_user', 'run (user_id, run_id) where user_id is not null'),
    index('run_ended', 'run (ended_at) where ended_at is not null'),
    index('run_not_completed', `run (status, created_at, run_id) where status <> 'completed'`),
    index('run_of_node', 'run (node_id) where ended_at is null'),
    index('run_of_owner', 'run (owner) where ended_at is null and epoch > 0'),
    index(
      'run_waiting',
      'run (registry, kind, name, owner, queued_at, run_id) where epoch = 0 and ended_at is null'
    ),
    index('run_place', 'run (owner, queued_at, run_id) where epoch = 0 and ended_at is null'),
    index('run_from_queue', 'run (owner) where queued_at is not null and epoch > 0 and ended_at is null'),
    index('run_with_files', 'run (ended_at, file_bytes) where file_bytes > 0 and ended_at is not null'),
    table(
      'run_part',
      `run_id ${id} not null, seq integer not null, json text not null, primary key (run_id, seq)`
    ) + ' partition by range (run_id)',
    `create table "${schema}".run_part_other partition of "${schema}".run_part default`,
    table('run_step', `run_id ${id} not null, key ${id} not null, output text, primary key (run_id, key)`),
    table('run_steer', `steer_id ${id} primary key, run_id ${id} not null, hash text, message text not null`),
    index('run_steer_run', 'run_steer (run_id)'),
    table(
      'run_value',
      `run_id ${id} not null, name ${id} not null, seq integer not null, json text not null, primary key (run_id, name, seq)`
    ),
    table(
      'run_input',
      `input_id ${id} primary key, run_id ${id} not null, kind ${id} not null, message text, schema text, tool_call_id text, tool_name text,
       args text, args_bytes bigint not null, source text not null, path text not null, expires_at bigint not null, answer text,
       seal_key text`
    ),
    index('run_input_run', 'run_input (run_id, expires_at, input_id, kind)'),
    index('run_input_waiting', 'run_input (run_id, expires_at, input_id, kind) where answer is null'),
    table('checkpoint', `run_id ${id} primary key, epoch integer not null, state text not null`),
    table(
      'schedule',
      `schedule_id ${id} primary key, registry ${id} not null, kind ${id} not null, name ${id} not null, owner ${id} not null,
       created_at bigint not null, updated_at bigint not null, revision integer not null, plan text not null, next_at bigint,
       ended_at bigint, last_at bigint, last_run_id ${id}, last_error ${id}`
    ),
    index('schedule_newest', 'schedule (owner, created_at, schedule_id)'),
    index('schedule_created', 'schedule (created_at, schedule_id)'),
    index('schedule_due', 'schedule (registry, kind, name, next_at) where next_at is not null'),
    index('schedule_overdue', 'schedule (next_at) where next_at is not null'),
    index('schedule_ended', 'schedule (ended_at) where ended_at is not null'),
    table(
      'webhook',
      `webhook_id ${id} primary key, subject ${id} not null, owner ${id} not null, run_id ${id}, registries text not null, url text not null,
       host text not null, events text not null, secrets text not null, created_at bigint not null, updated_at bigint not null`
    ),
    index('webhook_subject', 'webhook (subject)'),
    index('webhook_newest', 'webhook (owner, created_at, webhook_id) where run_id is null'),
    index('webhook_of_run', 'webhook (owner) where run_id is not null'),
    table(
      'webhook_delivery',
      `seq bigint generated by default as identity primary key, delivery_id ${id} not null unique, webhook_id ${id} not null,
       owner ${id} not null, run_id ${id} not null, registry ${id} not null, kind ${id} not null, name ${id} not null,
       session_id ${id} not null, metadata text, event ${id} not null, detail text, at bigint not null, due_at bigint not null,
       dead integer not null default 0, attempts integer not null default 0, last_status integer, last_error text`
    ),
    index('webhook_delivery_due', 'webhook_delivery (dead, due_at, seq)'),
    index('webhook_delivery_order', 'webhook_delivery (webhook_id, run_id, seq)'),
    index('webhook_delivery_run', 'webhook_delivery (run_id)'),
    index('webhook_delivery_newest', 'webhook_delivery (owner, seq)'),
    table('node', `node_id ${id} primary key, seen_at timestamptz not null default clock_timestamp()`),
    table('writer', `writer_id ${id} primary key, token text not null, seen_at timestamptz not null`),
    `create unlogged table "${schema}".counter (key ${id} primary key, count bigint not null, length bigint not null, max bigint,
       doubles integer not null, ends_at timestamptz not null) with (fillfactor = 50)`,
    table(
      'session',
      `session_key ${id} primary key, registry ${id} not null, owner ${id} not null, kind ${id} not null, name ${id} not null,
       session_id ${id} not null, title text, metadata text, created_at bigint not null, updated_at bigint not null,
       turns integer not null default 0, last_seq integer not null default 0, last_ordinal integer not null default 0, last_run ${id},
       listed integer not null default 0`
    ),
    index('session_oldest', 'session (updated_at)'),
    index('session_of_owner', 'session (owner, session_id)'),
    index(
      'session_listed',
      'session (owner, updated_at, session_key, registry, kind, name) where listed = 1'
    ),
    table(
      'session_run',
      `session_key ${id} not null, ordinal integer not null, run_id ${id} not null, primary key (session_key, ordinal)`
    ),
    `create unique index session_run_id on "${schema}".session_run (run_id)`,
    table(
      'session_message',
      `session_key ${id} not null, seq integer not null, turn_id ${id} not null, message text not null, primary key (session_key, seq)`
    ),
    index('session_message_turn', 'session_message (session_key, turn_id)'),
    table(
      'session_branch',
      `session_key ${id} not null, first_seq integer not null, parent_key ${id} not null, parent_seq integer not null,
       primary key (session_key, first_seq)`
    ),
    index('session_branch_parent', 'session_branch (parent_key, parent_seq)'),
    table(
      'session_turn',
      `session_key ${id} not null, ticket bigint not null, holder ${id} not null, node_id ${id} not null,
       primary key (session_key, ticket), unique (session_key, holder)`
    ),
    index('session_turn_holder', 'session_turn (holder)'),
    table(
      'browser_state',
      `session_key ${id} primary key, owner ${id} not null, session_id ${id} not null, state bytea not null, updated_at bigint not null`
    ),
    index('browser_state_of_owner', 'browser_state (owner, session_id)'),
    index('browser_state_oldest', 'browser_state (updated_at)'),
    table(
      'remote_session',
      `session_key ${id} not null, owner ${id} not null, session_id ${id} not null, remote ${id} not null, context_id text not null, task_id text, updated_at bigint not null,
       primary key (session_key, remote)`
    ),
    index('remote_session_of_owner', 'remote_session (owner, session_id)'),
    index('remote_session_oldest', 'remote_session (updated_at)'),
    table(
      'memory_space',
      `space_id bigint generated by default as identity primary key, owner ${id} not null, namespace ${id} not null, unique (owner, namespace)`
    ),
    table(
      'memory_item',
      `item_id bigint generated by default as identity primary key, space_id bigint not null references "${schema}".memory_space,
       id ${id} not null, text text not null, metadata text, session_id ${id}, embedding bytea, created_at bigint not null, unique (space_id, id)`
    ),
    index('memory_item_newest', 'memory_item (space_id, created_at, item_id)'),
    index('memory_item_of_session', 'memory_item (session_id) where session_id is not null'),
    index('memory_item_oldest', 'memory_item (created_at)'),
    table(
      'memory_word',
      `space_id bigint not null, word ${id} not null,
       item_id bigint not null references "${schema}".memory_item on delete cascade, primary key (space_id, word, item_id)`
    ),
    index('memory_word_item', 'memory_word (item_id)'),
    table(
      'task',
      `task_id ${id} primary key, context_id ${id} not null, registry ${id} not null, owner ${id} not null, agent_name text not null,
       created_at bigint not null`
    ),
    index('task_newest', 'task (owner, created_at, task_id)'),
    index('task_context', 'task (owner, context_id, created_at, task_id, registry)'),
    table(
      'task_message',
      `registry ${id} not null, owner ${id} not null, message_id ${id} not null,
       task_id ${id} not null references "${schema}".task on delete cascade, seq integer not null, message text not null,
       primary key (registry, owner, message_id)`
    ),
    index('task_message_task', 'task_message (task_id, seq)'),
    table(
      'push_config',
      `task_id ${id} not null references "${schema}".task on delete cascade, config_id ${id} not null, config text not null, pushed bigint,
       owner ${id} not null, endpoint ${id}, node_id ${id}, primary key (task_id, config_id)`
    ),
    index('push_config_open', 'push_config (task_id, config_id) where pushed is not null'),
    index('push_config_open_of_owner', 'push_config (owner) where pushed is not null'),
    table(
      'file',
      `file_id ${id} primary key, run_id ${id} not null, mime_type text not null, filename text, size bigint not null, sha256 text not null,
       created_at bigint not null`
    ),
    index('file_run', 'file (run_id, size)'),
    index('file_oldest', 'file (created_at, run_id)'),
    table(
      'file_chunk',
      `run_id ${id} not null, file_id ${id} not null, seq integer not null, bytes bytea not null,
       written_at timestamptz not null default clock_timestamp(), primary key (run_id, file_id, seq)`
    ) + ' partition by range (run_id)',
    `create table "${schema}".file_chunk_other partition of "${schema}".file_chunk default`,
    `alter table "${schema}".file_chunk alter column bytes set storage external`,
    index('file_chunk_first', 'file_chunk (file_id, written_at) where seq = 0')
  ]
}
