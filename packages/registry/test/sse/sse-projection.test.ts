import { createRunEngine, type LogEntry } from '@svc/registry'
import { createSseStream } from '@svc/registry/sse'
import { scriptedRunnable } from '@svc/registry/testing'
import t from 'tap'

const talker = scriptedRunnable(
  Array.from({ length: 30 }, (_, index) => ({ type: 'text', text: `${index}` }))
)

async function speak(
  t: { teardown(fn: () => unknown): unknown },
  projection: { head?: string; encode(entry: LogEntry): string; readonly ended?: boolean }
) {
  const runs = createRunEngine()
  t.teardown(() => runs.close())
  const run = await runs.start(talker, 'hi')
  await run.result()
  return (await createSseStream(runs, run.runId, { projection }).toArray()).join('')
}

t.test('a projection says something else, or nothing, of each entry', async (t) => {
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
