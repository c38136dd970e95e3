import t from 'tap'
import { InputQueue } from '../../src/input-queue.ts'

const frame = { type: 'audio', audio: new Uint8Array(65_536) } as const

t.test('inputs come in order, whether they are awaited or not, until the end', async (t) => {
  const queue = new InputQueue()
  queue.push({ type: 'commit' })
  const types: string[] = []
  const reading = (async () => {
    for await (const { type } of queue) types.push(type)
  })()
  await new Promise(setImmediate)
  queue.push({ type: 'clear' })
  queue.push({ type: 'away' })
  queue.push({ type: 'end', reason: 'gone' })
  queue.push({ type: 'cancel' })
  await reading
  t.same(types, ['commit', 'clear', 'away', 'end'])
})

t.test('what an agent does not take is bounded; the end always has a place', async (t) => {
  const queue = new InputQueue()
  for (let count = 0; count < 32; count++) queue.push(frame)
  t.throws(() => queue.push(frame), { code: 'VOICE_ERR_INPUT_FULL' })
  await queue.next()
  queue.push(frame)
  const text = { type: 'text', text: 'x'.repeat(1_000) } as const
  t.throws(() => queue.push(text), { code: 'VOICE_ERR_INPUT_FULL' })
  const asked = { type: 'respond', instructions: 'x'.repeat(1_000) } as const
  t.throws(() => queue.push(asked), { code: 'VOICE_ERR_INPUT_FULL' })
  queue.push({ type: 'away' })
  queue.push({ type: 'end', reason: 'hangup' })
  const types = await Array.fromAsync(queue, ({ type }) => type)
  t.equal(types.length, 34)

  const small = new InputQueue()
  for (let count = 0; count < 5_000; count++) small.push({ type: 'cancel' })
  t.throws(() => small.push({ type: 'cancel' }), { code: 'VOICE_ERR_INPUT_FULL' })
})

t.test('an iteration that is left ends, and takes no more', async (t) => {
  const queue = new InputQueue()
  const next = queue.next()
  await queue.return()
  t.same(await next, { value: undefined, done: true })
  queue.push({ type: 'cancel' })
  t.same(await queue.next(), { value: undefined, done: true })
})
