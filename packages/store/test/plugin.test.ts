import { join } from 'node:path'
import registry from '@svc/registry'
import { codeOf, scriptedRunnable } from '@svc/testing'
import store, { createStore } from '@svc/store'
import Fastify from 'fastify'
import t from 'tap'

t.test('on a Node that is too old no database is opened', async (t) => {
  const { versions } = process
  const node = Object.getOwnPropertyDescriptor(versions, 'node')!
  t.teardown(() => Object.defineProperty(versions, 'node', node))
  Object.defineProperty(versions, 'node', { ...node, value: '22.15.1' })
  t.equal(await codeOf(() => createStore({ url: 'sqlite::memory:' })), 'REG_ERR_OLD_NODE')
})

t.test('the engine of an app uses its store, and finds what was there before', async (t) => {
  const url = `sqlite:${join(t.testdir(), 'deep', 'folder', 'app.db')}`
  const start = async () => {
    const app = Fastify()
    await app.register(store, { url })
    await app.register(registry)
    await app.ready()
    return app
  }
  const first = await start()
  const run = await first.runs.start(scriptedRunnable([{ type: 'text', text: 'kept' }]), 'x')
  await run.result()
  await first.store.check()
  await first.close()
  const second = await start()
  t.match(await second.runs.get(run.runId), { status: 'completed', result: { text: 'kept' } })
  const parts = await Array.fromAsync(second.runs.parts(run.runId))
  t.same(
    parts.map(({ type }) => type),
    ['start', 'text', 'finish']
  )
  await second.close()
})

t.test('refuses bad options', async (t) => {
  const code = async (options: object) => codeOf(() => createStore(options))
  for (const url of ['postgres://a:b:c', 'mysql://localhost/a', 'sqlite:', 'app.db', '', 'sqlite:a\u0000b'])
    t.equal(await code({ url }), 'STO_ERR_BAD_OPTION', JSON.stringify(url))
  t.equal(await code({ url: 'sqlite::memory:', path: 'x' }), 'STO_ERR_BAD_OPTION')
  const postgres = 'postgres://localhost/a'
  for (const options of [
    { url: postgres, durability: 'full' },
    { url: postgres, schema: 'A b' },
    { pool: 3 }
  ])
    t.equal(await code(options), 'STO_ERR_BAD_OPTION', JSON.stringify(options))
  await t.rejects(createStore({ durability: 'most' as never }), {
    code: 'STO_ERR_BAD_OPTION',
    message: "Bad option: durability: expected 'normal' or 'full', got another string"
  })
  t.equal(await code({ retention: { maxAge: -1 } }), 'STO_ERR_BAD_OPTION')
  const file = join(t.testdir({ file: 'no folder' }), 'file')
  t.equal(await code({ url: `sqlite:${file}/app.db` }), 'STO_ERR_OPEN')
  t.equal(await code({ url: `sqlite:${file}` }), 'STO_ERR_OPEN')
})

t.test('a closed store refuses to write, and closes twice', async (t) => {
  const closed = await createStore({ url: 'sqlite::memory:', durability: 'full' })
  await closed.close()
  await closed.close()
  t.equal(await codeOf(() => closed.runs.remove('x')), 'STO_ERR_CLOSED')
  await t.rejects(closed.check())
})

t.test('finished runs are kept by count and by time', async (t) => {
  const small = await createStore({ url: 'sqlite::memory:', retention: { maxRuns: 2, maxAge: 1_000 } })
  const app = Fastify()
  await app.register(registry, { stores: small })
  await app.ready()
  for (let index = 0; index < 4; index++) await (await app.runs.start(scriptedRunnable([]), 'x')).result()
  t.equal(await small.runs.sweep(Date.now()), 2)
  t.equal(await small.runs.sweep(Date.now() + 2_000), 2)
  await app.close()
  await small.close()
})
