import { createSseStream } from '@svc/surface'
import { createRedact } from '../../src/redaction/redact-value.ts'
import { scriptedRunnable, type ScriptedAct } from '@svc/testing'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))
const progress = (value: unknown) => ({ type: 'data', name: 'progress', value, transient: true }) as const
const say = (text: string): ScriptedAct => ({ type: 'text', text })

/** The `data` and the `id` of each message. */
async function messagesOf(stream: ReadableStream<string>) {
  const messages: { part: Record<string, unknown>; id: string | undefined }[] = []
  let text = ''
  for await (const chunk of stream) text += chunk
  for (const message of text.split('\n\n').filter((each) => each.startsWith('data: '))) {
    const [data = '', id] = message.split('\nid: ')
    messages.push({ part: JSON.parse(data.slice(6)) as Record<string, unknown>, id })
  }
  return messages
}

t.test('a transient part reaches a live reader, and nothing else', async (t) => {
  const engine = buildEngine(t)
  const go = Promise.withResolvers<void>()
  const source = ['member']
  const run = await engine.start(
    scriptedRunnable([say('a'), () => go.promise, { ...progress(1), source }, turn, turn, turn, say('b')]),
    'x'
  )
  const reading = messagesOf(createSseStream(engine, run.runId))
  await turn()
  await turn()
  go.resolve()
  const messages = await reading
  t.match(
    messages.map(({ part, id }) => [part['type'], id]),
    [
      ['start', '1'],
      ['text', '2'],
      ['data', undefined],
      ['text', '3'],
      ['finish', '4']
    ]
  )
  const { at, ...part } = messages[2]!.part
  t.strictSame(part, { ...progress(1), source })
  t.ok(Number(at) >= Number(messages[1]!.part['at']) && Number(at) <= Number(messages[3]!.part['at']))
  t.same(
    (await partsOf(run)).map(({ seq, type }) => [seq, type]),
    [
      [1, 'start'],
      [2, 'text'],
      [3, 'text'],
      [4, 'finish']
    ]
  )
  t.match(await run.result(), { text: 'ab', structured: null })
  t.same(
    (await messagesOf(createSseStream(engine, run.runId))).map(({ id }) => id),
    ['1', '2', '3', '4'],
    'a later reader does not get it'
  )
})

t.test('a reader that does not read keeps the newest few only', async (t) => {
  const engine = buildEngine(t)
  const flood = Array.from({ length: 500 }, (_, index) => progress(index))
  const large = progress('x'.repeat(70_000))
  const go = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const run = await engine.start(
    scriptedRunnable([() => go.promise, ...flood, large, progress('last'), () => end.promise]),
    'x'
  )
  const reader = createSseStream(engine, run.runId).getReader()
  t.match((await reader.read()).value, /"type":"start"/)
  go.resolve()
  for (let index = 0; index < 600; index++) await turn()
  const { value = '' } = await reader.read()
  const values = [...value.matchAll(/"value":("[^"]*"|\d+)/g)].map(([, each]) => JSON.parse(each!) as unknown)
  t.same(values, ['last'], 'a large one displaces the others, and is dropped itself')
  end.resolve()
  await reader.cancel()
  await run.result()
})

t.test('up to 64 parts wait for a slow reader', async (t) => {
  const engine = buildEngine(t)
  const go = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const flood = Array.from({ length: 100 }, (_, index) => progress(index))
  const run = await engine.start(scriptedRunnable([() => go.promise, ...flood, () => end.promise]), 'x')
  const reader = createSseStream(engine, run.runId).getReader()
  await reader.read()
  go.resolve()
  for (let index = 0; index < 200; index++) await turn()
  const { value = '' } = await reader.read()
  const values = [...value.matchAll(/"value":(\d+)/g)].map(([, each]) => Number(each))
  t.same(
    values,
    Array.from({ length: 64 }, (_, index) => index + 36)
  )
  end.resolve()
  await reader.cancel()
})

t.test('readers that leave are forgotten', async (t) => {
  const engine = buildEngine(t)
  const go = Promise.withResolvers<void>()
  const run = await engine.start(scriptedRunnable([() => go.promise, progress(1), progress(2)]), 'x')
  const seen: unknown[] = []
  const leave = engine.followTransients(run.runId, ({ part }) => {
    seen.push(part.value)
    leave()
  })
  go.resolve()
  await run.result()
  t.same(seen, [1])
  leave()
})

t.test('the keys of the caller are redacted', async (t) => {
  const engine = buildEngine(t)
  const key = 'sk-caller-0123'
  const go = Promise.withResolvers<void>()
  const script = [() => go.promise, progress({ [key]: `key: ${key}` })]
  const run = await engine.start(scriptedRunnable(script), 'x', { redact: createRedact([key]) })
  const seen: string[] = []
  engine.followTransients(run.runId, ({ json, part }) => seen.push(json, JSON.stringify(part)))
  go.resolve()
  await run.result()
  t.equal(seen.length, 2)
  for (const each of seen) t.match(each, '{"[redacted]":"key: [redacted]"}')
  t.notMatch(seen.join(), key)
})

t.test('one that is no part fails the run, watched or not', async (t) => {
  const engine = buildEngine(t)
  const cyclic: unknown[] = []
  cyclic.push(cyclic)
  for (const part of [
    progress(cyclic),
    progress(1n),
    { ...progress(1), name: undefined },
    { ...progress(1), transient: false },
    { ...progress(1), transient: 'yes' }
  ]) {
    const run = await engine.start(scriptedRunnable([part as ScriptedAct]), 'x')
    await t.rejects(run.result(), { code: 'RUN_ERR_BAD_PART' })
  }
  const run = await engine.start(scriptedRunnable([{ type: 'data', name: 'none', value: undefined }]), 'x')
  t.match((await partsOf(run))[1], { type: 'data', value: null, seq: 2 })
})
