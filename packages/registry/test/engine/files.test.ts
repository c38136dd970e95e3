import { createInProcessStores, createRunEngine, defineRunnable } from '@svc/registry'
import t from 'tap'

const maker = defineRunnable({
  kind: 'agent',
  name: 'maker',
  async *stream(_input, { runId, stores }) {
    const file = await stores.files!.put(runId, { mimeType: 'text/plain', content: Buffer.from('bytes') })
    yield { type: 'file', ...pick(file) }
  }
})

function pick({
  fileId,
  mimeType,
  size,
  sha256
}: Record<'fileId' | 'mimeType' | 'sha256', string> & { size: number }) {
  return { fileId, mimeType, size, sha256 }
}

t.test('the files of a run go with it, whatever removes it', async (t) => {
  const stores = createInProcessStores({ maxRuns: 2 })
  const runs = createRunEngine({ stores })
  t.teardown(() => runs.close())
  const make = async () => {
    const run = await runs.start(maker, 'x')
    await run.result()
    const [part] = (await Array.fromAsync(runs.parts(run.runId))).filter(({ type }) => type === 'file')
    const { fileId } = part as { fileId: string }
    return {
      runId: run.runId,
      isThere: async () => (await stores.files!.get(run.runId, fileId)) !== undefined
    }
  }
  const first = await make()
  t.equal(await first.isThere(), true)
  await stores.runs.remove(first.runId)
  t.equal(await first.isThere(), false, 'removed')
  const made = [await make(), await make(), await make()]
  t.same(await Promise.all(made.map((one) => one.isThere())), [false, true, true], 'over the limit')
  await stores.runs.sweep(Number.MAX_SAFE_INTEGER)
  t.same(await Promise.all(made.map((one) => one.isThere())), [false, false, false], 'expired')
})

t.test('the files of an engine without stores of its own are bounded, and go with their runs', async (t) => {
  const runs = createRunEngine({ retention: { fileMaxBytes: 12, maxRuns: 2, maxAge: undefined as never } })
  t.teardown(() => runs.close())
  const files = runs.stores.files!
  const put = async (content: Uint8Array | AsyncIterable<Uint8Array>) =>
    files.put('r', { mimeType: 'a/b', content })
  await t.rejects(put(Buffer.alloc(13)), { code: 'RUN_ERR_FILE_LIMIT' })
  const made: { runId: string; fileId: string }[] = []
  for (let count = 0; count < 4; count++) {
    const run = await runs.start(maker, 'x')
    const { files: [file] = [] } = await run.result()
    made.push({ runId: run.runId, fileId: file!.fileId! })
  }
  const found = await Promise.all(made.map(async ({ runId, fileId }) => files.get(runId, fileId)))
  t.same(
    found.map((file) => file !== undefined),
    [false, false, true, true]
  )
})

t.test('an undefined limit of the stores in memory counts as not given', async (t) => {
  const retention = { fileMaxBytes: undefined as never }
  const { files } = createInProcessStores(retention)
  async function* endless() {
    for (;;) yield Buffer.alloc(1_048_576)
  }
  await t.rejects(async () => files!.put('r', { mimeType: 'a/b', content: endless() }), {
    code: 'RUN_ERR_FILE_LIMIT'
  })
})

t.test('streams that are put at the same time have one limit together', async (t) => {
  const { files } = createInProcessStores({ fileMaxBytes: 1_000 })
  const go = Promise.withResolvers<void>()
  async function* half() {
    yield Buffer.alloc(600)
    await go.promise
  }
  const put = async () => files!.put('r', { mimeType: 'a/b', content: half() })
  const [first, second] = [put(), put()]
  await t.rejects(second, { code: 'RUN_ERR_FILE_LIMIT' })
  go.resolve()
  t.equal((await first).size, 600)
  await files!.remove(['r'])
  t.equal((await put()).size, 600)
})

t.test('stores without files serve as before', async (t) => {
  const { files: _, ...stores } = createInProcessStores()
  const runs = createRunEngine({ stores })
  t.teardown(() => runs.close())
  const run = await runs.start(
    defineRunnable({ kind: 'agent', name: 'asks', run: (_input, context) => typeof context.stores.files }),
    'x'
  )
  t.equal((await run.result()).text, 'undefined')
})
