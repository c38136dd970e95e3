import type { YieldedPart } from '@svc/registry'
import { scriptedRunnable, type ScriptedAct } from '@svc/testing'
import * as fc from 'fast-check'
import t from 'tap'
import { buildApp, type TestApp } from '../helpers/build-app.ts'
import { parseMessages, readBytes } from '../helpers/event-stream.ts'

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('\n\n', '\r\ndata: x', '🎈🎈')
)
const part: fc.Arbitrary<YieldedPart> = fc.oneof(
  text.map((said) => ({ type: 'text' as const, text: said })),
  text.map((said) => ({ type: 'reasoning' as const, text: said, source: ['member'] })),
  fc.jsonValue().map((args) => ({ type: 'tool.call' as const, toolCallId: 'c', toolName: 'f', args })),
  fc.jsonValue().map((value) => ({ type: 'structured' as const, value }))
)
// A wait of 0 ms gives readers a turn in the midst of a run.
const script = fc.array(fc.oneof({ weight: 5, arbitrary: part }, { weight: 1, arbitrary: fc.constant(0) }), {
  maxLength: 12
})

/** Starts a run of a script that outlives its client; gives its id and the response. */
async function start({ registry, post }: TestApp, acts: readonly ScriptedAct[]) {
  registry.add(scriptedRunnable(acts), { replace: true })
  const response = await post('/agents/scripted/stream', { input: 'x', onDisconnect: 'continue' })
  return { response, runId: response.headers.get('x-run-id') ?? '' }
}

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer())

/** What a client has after it was cut off after so many bytes, and has come back with the last id that it saw. */
async function resume({ get }: TestApp, runId: string, seen: Uint8Array): Promise<string> {
  const complete = parseMessages(Buffer.from(seen).toString())
  const last = complete.at(-1)?.id
  const rest = await get(`/runs/${runId}/stream`, last === undefined ? {} : { 'last-event-id': last })
  const messages = [...complete, ...parseMessages(await rest.text())]
  return JSON.stringify(messages)
}

t.test('a stream cut at every byte and resumed equals the unbroken one', async (t) => {
  const app = await buildApp(t)
  const { response, runId } = await start(app, [
    { type: 'text', text: 'a\nb\u2028' },
    0,
    { type: 'text', text: '🎈' },
    { type: 'structured', value: { a: [1] } }
  ])
  const whole = await bytesOf(response)
  const expected = JSON.stringify(parseMessages(whole.toString()))
  for (let cut = 0; cut <= whole.length; cut++)
    if ((await resume(app, runId, whole.subarray(0, cut))) !== expected) t.fail(`cut at byte ${cut}`)
  t.ok(whole.length > 300)
})

t.test('the same holds for any script and a client that disconnects', async (t) => {
  const app = await buildApp(t)
  await fc.assert(
    fc.asyncProperty(script, fc.double({ min: 0, max: 1, noNaN: true }), async (acts, where) => {
      const { response, runId } = await start(app, acts)
      const amount = Math.floor(where * 1_000)
      const seen = await readBytes(response, amount)
      const resumed = await resume(app, runId, seen)
      const whole = await bytesOf(await app.get(`/runs/${runId}/stream`))
      t.equal(resumed, JSON.stringify(parseMessages(whole.toString())))
      t.ok(whole.subarray(0, seen.length).equals(seen), 'what was seen first is how it begins')
    }),
    { numRuns: 60 }
  )
})

t.test('readers of one run get the same bytes', async (t) => {
  const app = await buildApp(t)
  await fc.assert(
    fc.asyncProperty(script, async (acts) => {
      const { response, runId } = await start(app, acts)
      const streams = [response, ...(await Promise.all([1, 2].map(() => app.get(`/runs/${runId}/stream`))))]
      const read = await Promise.all(streams.map(bytesOf))
      t.equal(new Set(read.map((bytes) => bytes.toString('hex'))).size, 1)
    }),
    { numRuns: 30 }
  )
})
