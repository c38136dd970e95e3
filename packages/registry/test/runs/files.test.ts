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
