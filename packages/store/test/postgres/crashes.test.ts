import { LocalLogs } from '../../src/runs/local-logs.ts'
import { Failovers } from '../../src/postgres/nodes/failovers.ts'
import { createStore } from '@svc/store'
import { startPostgres } from '@tools/postgres'
import { Client } from 'pg'
import t from 'tap'

const schema = 'crashes'
// What is committed stays in memory until somebody waits for it.
const settings = {
  wal_writer_delay: '10s',
  wal_writer_flush_after: 2_000_000_000,
  wal_buffers: '64MB',
  bgwriter_lru_maxpages: 0
}
const server = await startPostgres({ settings }).catch((err: Error) => err)

t.test('a crash', { skip: server instanceof Error && server.message }, async (t) => {
  if (server instanceof Error) return
  t.teardown(() => server.stop())
  const store = await createStore({ url: server.url, schema })
  await store.lease!.whenHeld(new AbortController().signal)
  await store.close()
  const connect = async () => {
    const client = new Client(server.url)
    client.on('error', () => {})
    await client.connect()
    t.teardown(() => client.end().catch(() => {}))
    return client
  }
  const failovers = new Failovers({
    logs: new LocalLogs(),
    schema,
    table: (name) => `"${schema}"."${name}"`,
    nodeId: () => 'none'
  })
  const places = async () => (await (await connect()).query(`select place from ${schema}.failover`)).rowCount
  await failovers.look(await connect())
  const before = await places()

  await t.test('is no failover if it lost what nobody was told', async (t) => {
    const admin = await connect()
    await admin.query('set synchronous_commit = off')
    await admin.query('create table lost (text text)')
    await admin.query(`insert into lost select repeat('lost ', 100) from generate_series(1, 2000)`)
    const unwritten = 'pg_wal_lsn_diff(pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn())::int as bytes'
    const { rows } = await admin.query<{ bytes: number }>(`select ${unwritten}`)
    t.ok(rows[0]!.bytes > 500_000, 'not all of it is on disk')
    await failovers.look(await connect())
    await server.pause('immediate')
    await server.resume()
    const after = await connect()
    t.equal((await after.query(`select to_regclass('lost') as lost`)).rows[0].lost, null)
    await failovers.look(after)
    t.equal(await places(), before)
  })
})
