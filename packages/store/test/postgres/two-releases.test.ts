import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'
import type { ReleaseOrder, ReleaseReport } from '../helpers/release-node.ts'

t.setTimeout(120_000)

const packed = new URL('../fixtures/previous-release.mjs.br', import.meta.url)
const current = fileURLToPath(new URL('../helpers/release-node.ts', import.meta.url))

async function ask(node: ChildProcess, order?: ReleaseOrder): Promise<ReleaseReport> {
  if (order !== undefined) node.send(order)
  const [report] = (await once(node, 'message')) as [ReleaseReport]
  return report
}

await onPostgres(t, async (t, _open, url) => {
  const { schema } = await createNodes(t, url)
  const previous = join(t.testdir(), 'previous-release.mjs')
  writeFileSync(previous, brotliDecompressSync(readFileSync(packed)))
  const launch = (t: Test, program: string) => {
    const node = fork(program, [url, schema], { execArgv: ['--conditions=@svc/source'] })
    t.teardown(() => node.kill('SIGKILL'))
    return node
  }
  const [old, left] = [launch(t, previous), launch(t, previous)]
  t.same(await Promise.all([ask(old), ask(left)]), [{ status: 'ready' }, { status: 'ready' }])
  const runs: string[] = []
  const start = async (node: ChildProcess, session: string, queue = false) =>
    runs.push((await ask(node, { do: 'start', session, queue })).runId!)
  await start(old, 'a')
  await start(left, 'b')
  const next = launch(t, current)
  t.same(await ask(next), { status: 'ready' }, 'it has migrated while the others serve')
  for (const node of [old, next, left]) await start(node, 'a')
  for (const node of [next, old]) await start(node, 'c')
  for (const node of [old, next]) await start(node, 'q', true)
  t.same(await ask(left, { do: 'close' }), {}, 'a node of the previous release hands over')
  old.kill('SIGKILL')
  for (const runId of runs) {
    const { status, seqs } = await ask(next, { do: 'read', runId })
    t.equal(status, 'completed')
    t.same(
      seqs,
      Array.from(seqs!, (_, index) => index + 1),
      'no number is missing, and none comes twice'
    )
  }
  t.same(await ask(launch(t, previous)), { code: 'STO_ERR_NEWER_SCHEMA' }, 'it does not start again')
})
