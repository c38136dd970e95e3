import type { Client } from 'pg'

const DAY = 86_400_000

/** What was put into the tables of a schema. */
export interface Grown {
  /** The ids of finished runs of `ada`, some of each tenth, oldest first. */
  readonly finished: readonly string[]
}

/**
 * Fills the tables of a schema, in seconds, as they are after `runs` runs of a week: of one owner for the most part, in sessions of ten
 * turns, each with its messages; some failed, some have files, metadata, inputs, webhooks' messages, tasks and memories.
 */
export async function growTables(admin: Client, schema: string, runs: number): Promise<Grown> {
  const now = Date.now()
  const step = (7 * DAY) / runs
  // The ids of `newRunId` begin with the second, in base 36; those of one day share the first one here.
  const days = Array.from({ length: 8 }, (_, day) =>
    Math.floor((now - day * DAY) / 1_000)
      .toString(36)
      .padStart(7, '0')
  )
  const send = (sql: string) => admin.query(sql)
  await send(`set search_path = ${schema}`)
  await send('set synchronous_commit = off')
  // Without triggers and foreign keys.
  await send('set session_replication_role = replica')
  await send(`create temporary table g as
    select i, (array['${days.join("','")}'])[1 + ((${runs} - i) * ${step} / ${DAY})::int] || 'r' || lpad(i::text, 10, '0') as run_id,
      ${now} - ((${runs} - i) * ${step})::bigint - 60000 as at,
      case when i / 10 % 4 > 0 then 'ada' else 'o' || i / 10 % 1000 end as owner,
      case when i % 50 = 0 then 'failed' when i % 77 = 0 then 'canceled' else 'completed' end as status,
      case when i / 10 % 20 = 0 then 'rare' else 'echo' end as name, 's' || i / 10 as session_id
    from generate_series(1, ${runs}) i`)
  await send(`insert into run (run_id, registry, kind, name, session_id, owner, user_id, start_key, start_hash, metadata, created_at, updated_at, status,
      epoch, result, error, bytes, ended_at, preview, stats, file_bytes, node_id)
    select run_id, 'global', 'agent', name, session_id, owner, case when i % 3 = 0 then 'u' || i % 5000 end, 'k' || i, 'h',
      case when i % 2 = 0 then '{"customer":"c' || i % 1000 || '"}' end, at, at + 20, status, 1,
      case when status = 'completed' then '{"text":"an answer of some words"}' end,
      case when status = 'failed' then '{"code":"RUN_ERR_FAILED","message":"It failed","retryable":true,"statusCode":500}' end,
      900, at + 20, 'an answer', '{}', case when i % 20 = 0 then 10 else 0 end, 'gone' || i % 50 from g`)
  await send(
    `insert into run_end select run_id, registry, kind, name, session_id, owner, user_id, created_at, ended_at, status, bytes, file_bytes from run`
  )
  await send(`insert into run_metadata
    select owner, pair, created_at, run_id, registry, kind, name from run, metadata_pairs(metadata) pair`)
  await send(
    `insert into run_part select run_id, seq, '{"seq":1,"type":"text","at":1,"text":"hello"}' from g, generate_series(1, 2) seq`
  )
  await send(`insert into run_steer select 'st' || i, run_id, 'h', '{}' from g where i % 20 = 0`)
  await send(`insert into run_value select run_id, 'result', 1, '{}' from g where i % 20 = 1`)
  await send(`insert into run_step select run_id, 'left', '1' from g where i % 20 = 1`)
  await send(`insert into checkpoint select run_id, 1, '{}' from g where i % 20 = 1`)
  await send(`insert into run_input select run_id || '.1', run_id, case when i % 8 = 0 then 'approval' else 'question' end, 'Yes?', null, null, 'tool', '{}', 2,
      '[]', '[]', at, case when i % 24 > 0 then '{"type":"accepted"}' end, null from g where i % 4 = 0`)
  await send(`insert into session (session_key, registry, owner, kind, name, session_id, created_at, updated_at, turns, last_seq, last_ordinal, last_run, listed)
    select 'agent/' || name || '/' || length(session_id) || '/' || session_id || owner, 'global', owner, 'agent', name, session_id, min(at), max(at), 10, 20,
      10, max(run_id), 1 from g group by name, session_id, owner`)
  await send(
    `insert into session_run select session_key, i % 10 + 1, run_id from g join session using (owner, session_id)`
  )
  await send(`insert into session_message select session_key, i % 10 * 2 + m, run_id, '{"role":"user","content":"Hello again"}'
    from g join session using (owner, session_id), generate_series(1, 2) m`)
  await send(
    `insert into session_branch select session_key, 11, session_key, 4 from session where right(session_id, 1) = '7'`
  )
  await send(`insert into browser_state select session_key, owner, session_id, 'x', updated_at from session`)
  await send(
    `insert into remote_session select session_key, owner, session_id, 'remote', 'c', 't', updated_at from session`
  )
  await send(`insert into memory_space (owner, namespace) select distinct owner, 'echo' from g`)
  await send(`insert into memory_item (space_id, id, text, session_id, created_at)
    select space_id, 'm' || i, 'a word of number' || i, session_id, at from g join memory_space using (owner) where i % 10 = 0`)
  await send(
    `insert into memory_word select space_id, word, item_id from memory_item, unnest(array['word', 'number', text]) word`
  )
  await send(`insert into task select run_id, session_id, 'global', owner, 'echo', at from g where i % 2 = 0`)
  await send(
    `insert into task_message select 'global', owner, 'm' || i, run_id, 1, '{}' from g where i % 2 = 0`
  )
  await send(
    `insert into push_config select run_id, 'c', '{"id":"c","url":"https://example.com/"}', case when i % 200 = 0 then 3 end, owner, '/a2a', 'gone' from g where i % 20 = 0`
  )
  await send(
    `insert into file select 'f' || i, run_id, 'text/plain', null, 10, 'sha', at from g where i % 20 = 0`
  )
  await send(`insert into file_chunk select run_id, 'f' || i, 0, '0123456789' from g where i % 20 = 0`)
  await send(`insert into webhook select 'w' || i, case when i % 40 > 0 then 'run ' || run_id else 'owner o' || i % 1000 end, 'o' || i % 1000,
      case when i % 40 > 0 then run_id end, '', 'https://example.com/', 'example.com', ' run.completed ', '["whsec_x"]', at, at
    from g where i % 20 = 0`)
  await send(`insert into webhook_delivery (delivery_id, webhook_id, owner, run_id, registry, kind, name, session_id, event, at, due_at, dead)
    select 'd' || i, 'w' || i, 'o' || i % 1000, run_id, 'global', 'agent', 'echo', session_id, 'run.completed', at,
      case when i % 200 = 0 then ${now} + 86400000 else at end, case when i % 200 = 0 then 0 else 1 end from g where i % 20 = 0`)
  await send(`insert into schedule (schedule_id, registry, kind, name, owner, created_at, updated_at, revision, plan, next_at, ended_at)
    select 'sch' || i, 'global', 'agent', name, owner, at, at, 1, '{}', case when i % 40 = 0 then ${now} + 86400000 + i end, case when i % 40 > 0 then at end
    from g where i % 20 = 0`)
  const { rows } = await admin.query<{ run_id: string }>(
    `select run_id from g where owner = 'ada' and (i + 13) % ${runs / 50} = 0 order by i`
  )
  await send('drop table g')
  await send('reset all')
  return { finished: rows.map(({ run_id }) => run_id) }
}
