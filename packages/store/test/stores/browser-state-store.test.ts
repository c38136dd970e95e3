import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserState, SessionKey } from '@svc/registry'
import { createStore, type StoreOptions } from '@svc/store'
import t, { type Test } from 'tap'
import { eachDatabase, type TestDatabase } from '../helpers/each-store.ts'

const KEY = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff'
const CANARY = 'canary-of-a-cookie'
const STATE: BrowserState = { cookies: [{ name: 'sid', value: CANARY }], origins: [] }
const keyOf = (sessionId: string): SessionKey => ({
  registry: 'global',
  owner: 'ann',
  kind: 'agent',
  name: 'scout',
  sessionId
})

/** Opens a store with browser states. */
async function open(t: Test, database: TestDatabase, options: StoreOptions = {}, logged: unknown[] = []) {
  const log = { error: (...line: unknown[]) => void logged.push(line) }
  const store = await database.open({ stateKey: KEY, ...options }, log)
  t.teardown(() => store.close())
  return { ...store, states: store.browserStates! }
}

await eachDatabase(t, async (t, make) => {
  t.test('keeps the last state of each session', async (t) => {
    const database = make(t)
    const { states, close } = await open(t, database)
    t.equal(await states.load(keyOf('1')), undefined)
    await states.save(keyOf('1'), { cookies: [], origins: [] })
    await states.save(keyOf('1'), STATE)
    t.strictSame(await states.load(keyOf('1')), STATE)
    t.equal(await states.load(keyOf('2')), undefined)
    t.equal(await states.load({ ...keyOf('1'), owner: 'bob' }), undefined)
    await close()
    const again = await open(t, database)
    t.strictSame(await again.states.load(keyOf('1')), STATE)
    await again.states.remove(keyOf('1'))
    t.equal(await again.states.load(keyOf('1')), undefined)
  })

  t.test('another key, and a row of another session, count as damaged', async (t) => {
    const database = make(t)
    const first = await open(t, database)
    await first.states.save(keyOf('1'), STATE)
    await first.states.save(keyOf('2'), STATE)
    await first.close()
    const logged: unknown[] = []
    const other = await open(t, database, { stateKey: KEY.replace('0', '1') }, logged)
    t.equal(await other.states.load(keyOf('1')), undefined)
    t.match(JSON.stringify(logged), 'browser_state')
    t.notMatch(JSON.stringify(logged), KEY.slice(1))
    await other.close()

    await database.execute(
      `update browser_state set state = (select state from browser_state where session_key like '%/2ann') where session_key like '%/1ann'`
    )
    await database.execute(
      `update browser_state set state = ${database.bytes('00')} where session_key like '%/2ann'`
    )
    const third = await open(t, database)
    t.equal(await third.states.load(keyOf('1')), undefined)
    t.equal(await third.states.load(keyOf('2')), undefined)
  })

  t.test('goes with its session, and with its age', async (t) => {
    const { states, sessions } = await open(t, make(t), { retention: { sessionMaxAge: 1_000 } })
    for (const id of ['1', '2']) {
      await sessions.append(keyOf(id), 'turn', [{ role: 'user', content: 'Hi' }])
      await states.save(keyOf(id), STATE)
    }
    await states.save(keyOf('without a session'), STATE)
    await sessions.remove(keyOf('1'))
    t.equal(await states.load(keyOf('1')), undefined)
    await sessions.sweep(Date.now())
    t.ok(await states.load(keyOf('2')))
    await sessions.sweep(Date.now() + 2_000)
    t.equal(await states.load(keyOf('2')), undefined)
    t.equal(await states.load(keyOf('without a session')), undefined)
  })
})

t.test('nothing of it is on disk in the clear', async (t) => {
  const folder = t.testdir()
  const store = await createStore({ url: `sqlite:${join(folder, 'app.db')}`, stateKey: KEY })
  await store.browserStates!.save(keyOf('1'), STATE)
  await store.close()
  for (const file of readdirSync(folder)) t.notOk(readFileSync(join(folder, file)).includes(CANARY), file)
})

t.test('without a key there is no such store, and a bad key is refused without showing it', async (t) => {
  const store = await createStore({ url: 'sqlite::memory:' })
  t.teardown(() => store.close())
  t.equal(store.browserStates, undefined)
  for (const stateKey of ['', 'secret-key', `${KEY}00`, Buffer.alloc(31).toString('base64')]) {
    const refused = createStore({ url: 'sqlite::memory:', stateKey })
    await t.rejects(refused, { code: 'STO_ERR_BAD_OPTION', message: /stateKey: expected 32 bytes/ })
    if (stateKey !== '') await refused.catch((err: Error) => t.notMatch(err.message, stateKey))
  }
  const fits = await createStore({ url: 'sqlite::memory:', stateKey: Buffer.alloc(32, 7).toString('base64') })
  t.teardown(() => fits.close())
  t.ok(fits.browserStates)
})
