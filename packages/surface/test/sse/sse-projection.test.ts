import { text as textOf } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { createRunEngine } from '@svc/registry'
import { createSseStream, type SseProjection } from '../../src/sse/sse-stream.ts'
import { scriptedRunnable } from '@svc/testing'
import t from 'tap'

// From different sources, so that they are not joined before anyone reads.
const talker = scriptedRunnable(
  Array.from({ length: 30 }, (_, index) => ({ type: 'text', text: `${index}`, source: [`${index % 2}`] }))
)

async function speak(t: { teardown(fn: () => unknown): unknown }, projection: SseProjection) {
  const runs = createRunEngine()
  t.teardown(() => runs.close())
  const run = await runs.start(talker, 'hi')
  await run.result()
  return textOf(createSseStream(runs, run.runId, { projection }))
}

t.test('a projection replaces or drops entries', async (t) => {
  const text = await speak(t, {
    head: 'head ',
    encode: ({ part }) => (part.type === 'text' ? `${part.text} ` : '')
  })
  t.equal(text, `head ${Array.from({ length: 30 }, (_, index) => `${index} `).join('')}`)
})

t.test('a projection ends the stream before the log does', async (t) => {
  let said = 0
  const text = await speak(t, {
    encode: ({ seq }) => `${(said = seq)} `,
    get ended() {
      return said === 3
    }
  })
  t.equal(text, '1 2 3 ')
})

t.test('a projection that only has a head, and one that throws', async (t) => {
  t.equal(await speak(t, { head: 'x', encode: () => '' }), 'x')
  await t.rejects(
    speak(t, {
      encode() {
        throw new Error('broken')
      }
    }),
    { message: 'broken' }
  )
})

t.test('large messages arrive in pieces, encoded as they are read, between small ones', async (t) => {
  const runs = createRunEngine()
  t.teardown(() => runs.close())
  const run = await runs.start(talker, 'hi')
  await run.result()
  let made = 0
  function* large(name: string) {
    for (let index = 0; index < 10; index++) {
      made++
      yield name.repeat(100_000)
    }
  }
  const projection: SseProjection = {
    head: large('h'),
    encode: ({ seq, part }) => (part.type !== 'text' ? '' : seq % 10 === 5 ? large(`${seq % 7}`) : `<${seq}>`)
  }
  const stream = createSseStream(runs, run.runId, { projection })
  const reader = stream.getReader()
  const { value: first = '' } = await reader.read()
  for (let turn = 0; turn < 50; turn++) await setImmediate()
  t.ok(made < 5, `${made} pieces for who reads one`)
  reader.releaseLock()
  const rest = await textOf(stream)
  const wanted = Array.from({ length: 30 }, (_, index) => index + 2)
    .map((seq) => (seq % 10 === 5 ? `${seq % 7}`.repeat(1_000_000) : `<${seq}>`))
    .join('')
  t.ok(first + rest === 'h'.repeat(1_000_000) + wanted, 'all of it is there, in its order')
})
