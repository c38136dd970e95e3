import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { KeyedLock, type Release } from '../../src/stores/sessions.ts'

const { signal } = new AbortController()

t.test('a key is locked in call order, and releasing it twice frees it once', async (t) => {
  const lock = new KeyedLock()
  const first = lock.lock('a', signal) as Release
  const order: string[] = []
  const [second, third] = ['second', 'third'].map(async (name) => {
    const release = await lock.lock('a', signal)
    order.push(name)
    return release
  })
  first()
  first()
  const release = await second!
  await setImmediate()
  t.strictSame(order, ['second'], 'the third waits for the second')
  release()
  ;(await third!)()
  t.strictSame(order, ['second', 'third'])
  t.type(lock.lock('a', signal), 'function', 'the key is free')
})

t.test('a caller that leaves the queue holds up nobody', async (t) => {
  const lock = new KeyedLock()
  const first = lock.lock('a', signal) as Release
  const leaving = new AbortController()
  const left = Promise.resolve(lock.lock('a', leaving.signal))
  const next = Promise.resolve(lock.lock('a', signal))
  leaving.abort(new Error('gone'))
  await t.rejects(left, { message: 'gone' })
  first()
  ;(await next)()
  t.throws(() => lock.lock('a', leaving.signal), { message: 'gone' })
})
