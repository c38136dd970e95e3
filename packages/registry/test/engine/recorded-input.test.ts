import { createHash } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import {
  createInProcessStores,
  createRunEngine,
  defineRunnable,
  type PartOf,
  type Run,
  type RunContext,
  type RunEngine,
  type Runnable,
  type Stores
} from '@svc/registry'
import { createRedact } from '../../src/redaction/redact-value.ts'
import { scriptedRunnable } from '@svc/testing'
import * as fc from 'fast-check'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const agent = scriptedRunnable([{ type: 'text', text: 'a' }])
const anyInput = (run: (input: unknown, context: RunContext) => unknown = () => 'done'): Runnable =>
  defineRunnable({
    kind: 'workflow',
    name: 'any',
    resumable: true,
    inputSchema: Type.Unknown(),
    async *stream(input, context) {
      yield { type: 'text', text: String(await run(input, context)) }
    }
  })

async function startOf(run: Pick<Run, 'parts'>): Promise<PartOf<'start'>> {
  const [start] = await partsOf(run)
  return start as PartOf<'start'>
}

const bytes = Buffer.from('an image')
const sha256 = createHash('sha256').update(bytes).digest('hex')
const image = { type: 'image', mimeType: 'image/png', filename: 'a.png' } as const

t.test('the start has what the run was asked', async (t) => {
  const engine = buildEngine(t)
  for (const input of ['Hello "you"', [{ type: 'text', text: 'Hello' }]])
    t.strictSame((await startOf(await engine.start(agent, input))).input, input)
  for (const input of [{ topic: ['x'] }, null, 5, false])
    t.strictSame((await startOf(await engine.start(anyInput(), input))).input, input)
  t.notOk('input' in (await startOf(await engine.start(anyInput(), undefined))))
})

t.test('binary content is recorded by reference', async (t) => {
  const engine = buildEngine(t)
  const link = { type: 'image', mimeType: 'image/png', url: 'https://files.example/a.png' }
  const given: unknown[] = []
  const reader = defineRunnable({
    kind: 'agent',
    name: 'reader',
    run(input) {
      given.push(input)
      return 'read'
    }
  })
  const file = { size: 3, stream: async function* () {} }
  const input = [
    { type: 'text', text: 'Look' },
    link,
    { ...image, data: bytes.toString('base64') },
    { type: 'file', mimeType: 'text/csv', file: { ...file, sha256: 'abc' } },
    { type: 'audio', mimeType: 'audio/wav', file }
  ]
  const run = await engine.start(reader, input)
  t.strictSame((await startOf(run)).input, [
    { type: 'text', text: 'Look' },
    link,
    { ...image, sha256, size: 8 },
    { type: 'file', mimeType: 'text/csv', sha256: 'abc', size: 3 },
    { type: 'audio', mimeType: 'audio/wav', size: 3 }
  ])
  t.equal(given[0], input, 'the runnable has the content itself')

  const deep = { asked: { files: [{ ...image, data: bytes.toString('base64') }] }, data: 'plain', file: null }
  t.strictSame((await startOf(await engine.start(anyInput(), deep))).input, {
    ...deep,
    asked: { files: [{ ...image, sha256, size: 8 }] }
  })
  const alike = { type: 'chart', mimeType: 'text/plain', data: 'not base64' }
  t.strictSame((await startOf(await engine.start(anyInput(), alike))).input, alike)
})

t.test('the keys of the caller are redacted', async (t) => {
  const engine = buildEngine(t)
  const key = 'sk-caller-0123'
  const redact = createRedact([key])
  const run = await engine.start(agent, `My key is ${key}.`, { redact })
  t.equal((await startOf(run)).input, 'My key is [redacted].')
  const nested = { [key]: [{ ...image, filename: key, data: 'AAAA' }] }
  const { input } = await startOf(await engine.start(anyInput(), nested, { redact }))
  t.match(input, { '[redacted]': [{ filename: '[redacted]', size: 3 }] })
})

t.test('an input without JSON is refused before the run begins', async (t) => {
  const engine = buildEngine(t)
  const cyclic: unknown[] = []
  cyclic.push(cyclic)
  let deep: unknown = 'x'
  for (let depth = 0; depth < 100_000; depth++) deep = [deep]
  const throws = {
    get a() {
      throw new Error('secret')
    }
  }
  for (const input of [cyclic, deep, { a: 1n }, throws])
    await t.rejects(engine.start(anyInput(), input), {
      code: 'RUN_ERR_BAD_INPUT',
      statusCode: 400,
      message: 'input: must be JSON',
      errors: [{ path: 'input', message: 'must be JSON' }]
    })
  t.equal((await engine.list({ limit: 9 })).runs.length, 0)
  t.equal(engine.active, 0)
})

t.test('an input is recorded as its JSON, however it is made', async (t) => {
  const engine = buildEngine(t)
  const hostile = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{}}}') as object
  const run = await engine.start(anyInput(), hostile)
  t.equal(JSON.stringify((await startOf(run)).input), JSON.stringify(hostile))
  t.equal(({} as { polluted?: number }).polluted, undefined)
  const date = { at: new Date(0), toJSON: () => ({ type: 'finish', at: new Date(0) }) }
  const [start, ...rest] = await partsOf(await engine.start(anyInput(), date))
  t.match(start, { seq: 1, type: 'start', input: { type: 'finish', at: '1970-01-01T00:00:00.000Z' } })
  t.equal(rest.length, 2)

  let nested: unknown = 'x'
  for (let depth = 0; depth < 2_000; depth++) nested = depth % 2 ? [nested] : { nested }
  const deep = await startOf(await engine.start(anyInput(), nested))
  t.equal(JSON.stringify(deep.input), JSON.stringify(nested))
})

t.test('any JSON is recorded as it is', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  const runnable = anyInput()
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ noUnicodeString: false }), async (input) => {
      const { input: recorded } = await startOf(await engine.start(runnable, input))
      t.equal(JSON.stringify(recorded), JSON.stringify(input))
    }),
    { numRuns: 200 }
  )
})

t.test('an input larger than the log fails the run, whose log begins all the same', async (t) => {
  const engine = buildEngine(t, { limits: { maxLogBytes: 2_000 } })
  for (const input of ['x'.repeat(3_000), [{ type: 'text', text: 'x'.repeat(3_000) }]]) {
    const run = await engine.start(agent, input)
    await t.rejects(run.result(), { code: 'RUN_ERR_LOG_LIMIT' })
    const parts = await partsOf(run)
    t.match(parts, [
      { seq: 1, type: 'start', input: undefined },
      { seq: 2, type: 'error' }
    ])
  }
})

t.test('a run whose process died before its start was written has the input all the same', async (t) => {
  const stores = createInProcessStores()
  const { log } = stores
  const dead: typeof log.append = () => new Promise(() => {})
  const engine = createRunEngine({ stores: { ...stores, log: { ...log, append: dead } }, drainTimeout: 0 })
  const runnable = anyInput((input) => JSON.stringify(input))
  const { runId } = await engine.start(runnable, { topic: 'x' })
  const next = buildEngine(t, { stores })
  await next.resume(runnable)
  await next.recover()
  const [start] = await partsOf({ parts: (after?: number) => next.parts(runId, after) })
  t.match(start, { type: 'start', input: { topic: 'x' } })
})

function withoutFiles(): Stores {
  const { files: _, ...stores } = createInProcessStores()
  return stores
}

const held = () => new Promise<never>(() => {})

async function stateOf({ stores }: RunEngine, runId: string) {
  return stores.checkpoints.load(runId)
}

t.test('without `record.input` neither the log nor a checkpoint has it', async (t) => {
  const engine = buildEngine(t, { record: { input: false } })
  let recorded: boolean | undefined
  const runnable = anyInput((_, context) => {
    recorded = context.child('step').recordsInput
    return held()
  })
  const run = await engine.start(runnable, { secret: 'x' })
  run.result().catch(() => {})
  t.equal(recorded, false)
  t.equal(await stateOf(engine, run.runId), undefined)
  t.strictSame(engine.record, { input: false, files: false })
  await engine.close()
  t.match(await engine.get(run.runId), { status: 'failed', error: { code: 'RUN_ERR_INTERRUPTED' } })
  const [start] = await engine.stores.log.read(run.runId, 0, { entries: 1, bytes: 1 })
  t.notMatch(start?.json, /secret/)

  const cyclic: unknown[] = []
  cyclic.push(cyclic)
  const other = buildEngine(t, { record: { input: false } })
  t.match(await (await other.start(anyInput(), cyclic)).result(), { text: 'done' })
})

t.test('`record` is checked', async (t) => {
  for (const record of [null, true, { input: 'no' }, { output: false }])
    t.throws(() => createRunEngine({ record: record as never }), { code: 'REG_ERR_BAD_OPTION' })
  t.strictSame(buildEngine(t, { record: {} }).record, { input: true, files: false })
  const refused = [
    { record: { input: false, files: true } },
    { record: { files: true }, stores: withoutFiles() }
  ]
  for (const options of refused)
    t.throws(() => createRunEngine(options), { code: 'REG_ERR_BAD_OPTION', message: /record\.files: / })
})
