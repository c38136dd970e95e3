import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { Type } from '@sinclair/typebox'
import {
  createInProcessStores,
  createRunEngine,
  defineRunnable,
  SILENT_LOG,
  type FileContentPart,
  type RunEngine,
  type RunEngineOptions,
  type Runnable,
  type Stores
} from '@svc/registry'
import { createRedact } from '../../src/redaction/redact-value.ts'
import t from 'tap'
import { buildEngine, partsOf } from '../helpers/collect.ts'

const record = { files: true }
const turn = () => new Promise((resolve) => setImmediate(resolve))
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

const cat = Buffer.from('a cat')
const song = Buffer.from('a song')
const image = { type: 'image', mimeType: 'image/png', filename: 'cat.png' } as const
const base64 = { ...image, data: cat.toString('base64') }
const upload: FileContentPart = {
  type: 'audio',
  mimeType: 'audio/wav',
  file: {
    size: song.length,
    sha256: sha256(song),
    async *stream() {
      yield song.subarray(0, 2)
      yield song.subarray(2)
    }
  }
}

/** A resumable workflow that hands over its input, and goes on if it is let. */
function build(act: (input: unknown) => unknown = () => 'done') {
  const given: unknown[] = []
  const runnable = defineRunnable({
    kind: 'workflow',
    name: 'flow',
    resumable: true,
    inputSchema: Type.Unknown(),
    async *stream(input) {
      given.push(input)
      yield { type: 'text', text: String(await act(input)) }
    }
  })
  return { runnable, given }
}

const held = () => new Promise<never>(() => {})

async function startOf(engine: Pick<RunEngine, 'parts'>, runId: string) {
  for await (const part of engine.parts(runId)) if (part.type === 'start') return part.input
  throw new Error('no start')
}

async function bytesOf({ files }: Stores, runId: string, fileId: string) {
  return buffer((await files!.get(runId, fileId))!.content)
}

/** A run of a process that died, and its stores. */
async function crash(runnable: Runnable, input: unknown, options: RunEngineOptions = {}) {
  const stores = options.stores ?? createInProcessStores()
  const own = { ...stores, log: { ...stores.log, abandon: () => {} } }
  const engine = createRunEngine({ record, drainTimeout: 2_000, ...options, stores: own })
  const { runId } = await engine.start(runnable, input)
  await turn()
  return { stores, runId, engine }
}

t.test('bytes of a client are files of the run, and readers see where', async (t) => {
  const engine = buildEngine(t, { record })
  const { runnable, given } = build()
  const input = { deep: [{ 'a/b': base64 }], text: 'x', __proto__: null, uploads: [upload] }
  const run = await engine.start(runnable, input)
  t.equal(given[0], input, 'the runnable has the content itself')
  const recorded = (await startOf(engine, run.runId)) as typeof input
  const { fileId: catId, ...first } = recorded.deep[0]!['a/b'] as unknown as { fileId: string }
  t.strictSame(first, { ...image, sha256: sha256(cat), size: 5 })
  const { fileId: songId, ...second } = recorded.uploads[0] as unknown as { fileId: string }
  t.strictSame(second, { type: 'audio', mimeType: 'audio/wav', sha256: sha256(song), size: 6 })
  t.equal(String(await bytesOf(engine.stores, run.runId, catId)), 'a cat')
  t.equal(String(await bytesOf(engine.stores, run.runId, songId)), 'a song')
  t.match((await engine.stores.files!.get(run.runId, catId))?.file, {
    filename: 'cat.png',
    mimeType: 'image/png'
  })
  t.strictSame(await startOf(engine, (await engine.start(runnable, { plain: 1 })).runId), { plain: 1 })
})

t.test('without `record.files` no bytes are kept, at any depth, and the run is not resumable', async (t) => {
  const { runnable } = build(held)
  for (const input of [[upload], [base64], { deep: [{ base64 }] }]) {
    const inner = createInProcessStores()
    let kept = 0
    const files = { ...inner.files!, put: () => Promise.reject(new Error(String(++kept))) }
    const { stores, runId } = await crash(runnable, input, { record: {}, stores: { ...inner, files } })
    t.equal(kept, 0)
    t.equal(await stores.checkpoints.load(runId), undefined)
    t.equal(await buildEngine(t, { stores }).recover(), 1)
  }
})

t.test('a run with bytes of its client resumes with the same bytes', async (t) => {
  const { runnable } = build(held)
  const input = JSON.parse(`{"__proto__":[${JSON.stringify(base64)}],"b":{"c":null}}`) as Record<
    string,
    unknown
  >
  const { stores, runId } = await crash(runnable, { ...input, upload, at: new Date(0) })
  t.notMatch(JSON.stringify(await stores.checkpoints.load(runId)), base64.data)
  const next = buildEngine(t, { stores })
  const { runnable: again, given } = build(async (resumed) => {
    const { file } = (resumed as { upload: FileContentPart }).upload
    const bytes = []
    for (const _ of ['first', 'second']) bytes.push(String(await buffer(file.stream())))
    return [bytes, file.size, file.sha256].join()
  })
  await next.resume(again)
  await next.recover()
  const { upload: restored, ...rest } = given[0] as Record<string, unknown>
  t.equal(JSON.stringify(rest), JSON.stringify({ ...input, at: new Date(0) }))
  t.match(restored, { type: 'audio', mimeType: 'audio/wav', file: { size: 6 } })
  const texts = (await partsOf({ parts: (after) => next.parts(runId, after) })).flatMap((part) =>
    part.type === 'text' ? part.text : []
  )
  t.same(texts, [`a song,a song,6,${sha256(song)}`])
  t.equal(await stores.checkpoints.load(runId), undefined)
})

t.test(
  'a run whose process died before its start was written has the files in it all the same',
  async (t) => {
    const inner = createInProcessStores()
    const log = { ...inner.log, append: held }
    const { runnable } = build(held)
    const { runId } = await crash(runnable, [base64], { stores: { ...inner, log }, drainTimeout: 0 })
    const next = buildEngine(t, { stores: inner })
    const { runnable: again, given } = build()
    await next.resume(again)
    await next.recover()
    t.strictSame(given, [[base64]])
    const [{ fileId }] = (await startOf(next, runId)) as [{ fileId: string }]
    t.equal(String(await bytesOf(inner, runId, fileId)), 'a cat')
  }
)

t.test('a run whose files are gone fails instead of resuming', async (t) => {
  const { runnable } = build(held)
  const { stores, runId } = await crash(runnable, [base64])
  await stores.files!.remove([runId])
  const next = buildEngine(t, { stores })
  await next.recover()
  await next.resume(runnable)
  t.match(await next.get(runId), { status: 'failed', error: { code: 'RUN_ERR_DAMAGED', message: /file/ } })
})

t.test(
  'a file that does not fit, or breaks, is not kept: the run continues and is not resumable',
  async (t) => {
    const warnings: object[] = []
    const log = { ...SILENT_LOG, warn: (details: object) => void warnings.push(details) }
    const broken: FileContentPart = {
      ...upload,
      file: {
        size: 6,
        async *stream() {
          yield song.subarray(0, 2)
          throw new Error('the upload is gone')
        }
      }
    }
    const inputs = {
      'does not fit': [base64, { ...base64, data: 'A'.repeat(400) }],
      'is gone': [base64, broken]
    }
    for (const [why, input] of Object.entries(inputs)) {
      const stores = createInProcessStores({ fileMaxBytes: 100 })
      const { runnable, given } = build(held)
      const { runId, engine } = await crash(runnable, input, { stores, log })
      t.equal(given[0], input)
      t.match(warnings.splice(0), [{ runId, err: { stack: new RegExp(why) } }])
      t.equal(await stores.checkpoints.load(runId), undefined)
      const [first, second] = (await startOf(engine, runId)) as { fileId?: string }[]
      t.equal(String(await bytesOf(stores, runId, first!.fileId!)), 'a cat')
      t.equal(second!.fileId, undefined)
    }
  }
)

t.test('a run that is canceled while its files are kept never begins', async (t) => {
  const stores = createInProcessStores()
  const engine = buildEngine(t, { record, stores })
  const { runnable, given } = build()
  const go = Promise.withResolvers<void>()
  const slow = {
    ...upload,
    file: {
      size: 1,
      async *stream() {
        await go.promise
        yield Buffer.from('a')
      }
    }
  }
  const starting = engine.start(runnable, [slow])
  await turn()
  const [listed] = (await engine.list({ limit: 1 })).runs
  t.match(listed, { status: 'submitted' })
  await engine.cancel(listed!.runId)
  go.resolve()
  const run = await starting
  t.match(await run.result(), { finishReason: 'canceled' })
  t.same(given, [])
  t.equal(await stores.checkpoints.load(run.runId), undefined)
  t.equal(engine.active, 0)
})

t.test('a repeated start keeps no second copy', async (t) => {
  const stores = createInProcessStores({ fileMaxBytes: 5 })
  const engine = buildEngine(t, { record, stores })
  const { runnable } = build()
  const start = () => engine.start(runnable, [base64], { startKey: { key: 'k', hash: 'h' } })
  const [first, second] = [await start(), await start()]
  t.equal(second.runId, first.runId)
  const [{ fileId }] = (await startOf(engine, first.runId)) as [{ fileId: string }]
  t.equal(String(await bytesOf(stores, first.runId, fileId)), 'a cat')
})

t.test('keys of the caller are redacted in names, and the bytes stay as they are', async (t) => {
  const stores = createInProcessStores()
  const key = 'sk-caller-0123'
  const engine = buildEngine(t, { record, stores })
  const { runnable } = build(held)
  const content = { ...base64, filename: `${key}.png`, data: Buffer.from(key).toString('base64') }
  const run = await engine.start(runnable, { [key]: content }, { redact: createRedact([key]) })
  run.result().catch(() => {})
  const recorded = (await startOf(engine, run.runId)) as Record<string, { fileId: string; filename: string }>
  const { fileId, filename } = recorded['[redacted]']!
  t.equal(filename, '[redacted].png')
  t.equal((await stores.files!.get(run.runId, fileId))?.file.filename, '[redacted].png')
  t.equal(String(await bytesOf(stores, run.runId, fileId)), key)
  const state = (await stores.checkpoints.load(run.runId))?.state
  t.match(state, { files: [{ path: ['[redacted]'], fileId }] })
})
