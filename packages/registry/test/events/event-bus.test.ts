import { createEventBus, type EventBus } from '@svc/registry'
import t from 'tap'

// Packages add their events by declaration merging; this one is for the test.
type Loose = {
  on(name: string, listener: (event: unknown) => unknown): () => void
  emit(name: string, event: unknown): void
  has(name: string): boolean
}
const loose = (bus: EventBus) => bus as unknown as Loose

t.test('reaches every listener, even if others throw', async (t) => {
  const logged: object[] = []
  const bus = loose(createEventBus({ error: (details) => void logged.push(details) }))
  const heard: unknown[] = []
  t.equal(bus.has('x'), false)
  bus.on('x', () => {
    throw new Error('sync')
  })
  bus.on('x', async () => {
    throw new Error('async')
  })
  const off = bus.on('x', (event) => heard.push(event))
  bus.emit('x', 1)
  off()
  off()
  bus.emit('x', 2)
  bus.emit('y', 3)
  await new Promise((resolve) => setImmediate(resolve))
  t.same(heard, [1])
  t.equal(logged.length, 4)
  t.match(logged[0], { event: 'x', err: { stack: /sync/ } })
  t.equal(bus.has('x'), true)
})

t.test(
  'a function can be registered several times, and each registration is removed separately',
  async (t) => {
    const bus = loose(createEventBus())
    let heard = 0
    const listener = () => heard++
    const [first, second] = [bus.on('x', listener), bus.on('x', listener)]
    bus.emit('x', 1)
    t.equal(heard, 2)
    first()
    first()
    bus.emit('x', 2)
    t.equal(heard, 3)
    second()
    t.equal(bus.has('x'), false)
  }
)

t.test('a log that fails does not affect listeners', async (t) => {
  const bus = loose(
    createEventBus({
      error() {
        throw new Error('the log is full')
      }
    })
  )
  const heard: unknown[] = []
  bus.on('x', () => {
    throw new Error('sync')
  })
  bus.on('x', async () => {
    throw new Error('async')
  })
  bus.on('x', (event) => heard.push(event))
  bus.emit('x', 1)
  await new Promise((resolve) => setImmediate(resolve))
  t.same(heard, [1])
})

t.test('forgets an event when its last listener is removed', async (t) => {
  const bus = loose(createEventBus())
  const off = bus.on('constructor', () => {})
  t.equal(bus.has('constructor'), true)
  off()
  t.equal(bus.has('constructor'), false)
  bus.emit('constructor', 1)
})
