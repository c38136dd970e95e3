import { join } from 'node:path'
import { storedRun } from '@svc/registry/testing'
import { createStore } from '@svc/store'
import { Kysely, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import t from 'tap'
import { createFirstTables } from '../src/migrations/0001-first-tables.ts'
import { addSizesAndAges } from '../src/migrations/0002-sizes-and-ages.ts'
import { addStartKeys } from '../src/migrations/0003-start-keys.ts'
import { addMemoryWords } from '../src/migrations/0004-memory-words.ts'
import { addToldReceivers } from '../src/migrations/0005-told-receivers.ts'
import { addListIndexes } from '../src/migrations/0006-list-indexes.ts'
import { createNodeSqliteDialect } from '../src/sqlite/node-sqlite-dialect.ts'
import { openDatabase } from '../src/sqlite/open-database.ts'

const EARLIER = {
  '0001-first-tables': { up: createFirstTables },
  '0002-sizes-and-ages': { up: addSizesAndAges },
  '0003-start-keys': { up: addStartKeys },
  '0004-memory-words': { up: addMemoryWords },
  '0005-told-receivers': { up: addToldReceivers },
  '0006-list-indexes': { up: addListIndexes }
}

/** A file as it was before registries had ids, with one of everything in it. */
async function fill(path: string): Promise<void> {
  const db = new Kysely<never>({
    dialect: createNodeSqliteDialect(openDatabase({ path, durability: 'normal' }))
  })
  const { error } = await new Migrator({
    db,
    provider: { getMigrations: async () => EARLIER }
  }).migrateToLatest()
  t.equal(error, undefined)
  for (const statement of [
    sql`insert into run (run_id, kind, name, session_id, owner, start_key, start_hash, created_at, updated_at, status, epoch)
      values ('r', 'agent', 'echo', 's', 'ada', 'k', 'h', 1, 1, 'working', 1)`,
    sql`insert into session (session_key, last_seq, updated_at) values ('agent/echo/1/sada', 1, ${Date.now()})`,
    sql`insert into session_message (session_key, seq, turn_id, message)
      values ('agent/echo/1/sada', 1, 't', '{"role":"user","content":"before"}')`,
    sql`insert into task (task_id, context_id, owner, agent_name, created_at) values ('r', 's', 'ada', 'echo', 1)`,
    sql`insert into task_message (owner, message_id, task_id, seq, message) values ('ada', 'm', 'r', 1, '"said"')`,
    sql`insert into push_config (task_id, config_id, config, told) values ('r', 'p', '{"id":"p","url":"x:"}', 1)`
  ])
    await statement.execute(db)
  await db.destroy()
}

t.test('what a file had before registries had ids belongs to the global one', async (t) => {
  const path = join(t.testdir(), 'app.db')
  await fill(path)
  const store = await createStore({ url: `sqlite:${path}` })
  const { runs, sessions, tasks } = store
  t.match(await runs.get('r'), { registry: 'global', name: 'echo', startKey: { key: 'k' } })
  const again = { startKey: { key: 'k', hash: 'h' }, sessionId: 's' }
  t.match(await runs.create(storedRun(again)), { runId: 'r' }, 'its start key is taken')
  t.equal(await runs.create(storedRun({ ...again, registry: 'b' })), undefined)

  const key = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' } as const
  t.same(await sessions.load(key, 9), [{ role: 'user', content: 'before' }])
  t.same(await sessions.load({ ...key, registry: 'b' }, 9), [])

  t.match(await tasks.get('r'), { registry: 'global', messages: ['said'] })
  t.equal(await tasks.taskOfMessage('global', 'ada', 'm'), 'r')
  t.equal(await tasks.taskOfMessage('b', 'ada', 'm'), undefined)
  t.match(await tasks.lastOfContext(['global'], 'ada', 's'), { taskId: 'r' })
  t.match(await tasks.listOpenPushes(), [{ taskId: 'r' }])
  await runs.remove('r')
  t.equal(await tasks.taskOfMessage('global', 'ada', 'm'), undefined, 'a message still goes with its task')
  await store.close()
})
