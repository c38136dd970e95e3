import { join } from 'node:path'
import type { PendingApproval, Run, RunnableDefinition } from '@svc/registry'
import store from '@svc/store'
import t, { type Test as TapTest } from 'tap'
import { buildApp, type AppRequest, type TestApp } from '../helpers/build-app.ts'
import { requireError } from '../helpers/require-error.ts'

const MEGABYTE = 1_000_000
const LONG = 100_000
/** What a page may have, and the item that reaches it. */
const MAX_PAGE = 1_048_576 + 65_536

const big: RunnableDefinition = {
  kind: 'agent',
  name: 'big',
  async *stream() {
    yield { type: 'text', text: `“ünïcode” ${'x'.repeat(MEGABYTE)}` }
  }
}
/** Waits for as many approvals as its input says, each with long arguments. */
const asking: RunnableDefinition = {
  kind: 'agent',
  name: 'asking',
  async *stream(input, { approvals }) {
    const args = { file: 'y'.repeat(LONG) }
    const asked = Array.from({ length: Number(input) }, (_, index) =>
      approvals.request({ toolCallId: `c${index}`, toolName: 'write', args, timeout: 600_000 })
    )
    await Promise.allSettled(asked)
    yield { type: 'text', text: 'done' }
  }
}

interface Page {
  runs: { runId: string; preview?: string; href: string }[]
  approvals: (PendingApproval & { href: string })[]
  nextCursor: string | null
}

/** Every page of a list, and how large the largest was. */
async function readPages({ get }: TestApp, path: string): Promise<{ pages: Page[]; largest: number }> {
  const pages: Page[] = []
  let largest = 0
  for (let cursor: string | null | undefined; cursor !== null;) {
    const response = await get(cursor === undefined ? path : `${path}&cursor=${cursor}`)
    const text = await response.text()
    if (response.status !== 200) throw new Error(text)
    largest = Math.max(largest, Buffer.byteLength(text))
    pages.push(JSON.parse(text) as Page)
    cursor = pages.at(-1)!.nextCursor
  }
  return { pages, largest }
}

const kinds: [name: string, before: (folder: string) => AppRequest['before']][] = [
  ['memory', () => undefined],
  ['SQLite', (folder) => async (app) => app.register(store, { url: `sqlite:${join(folder, 'app.db')}` })]
]
for (const [name, begin] of kinds) {
  const serve = (t: TapTest, runnables: RunnableDefinition[]) => {
    const before = begin(t.testdir())
    return buildApp(t, { runnables, ...(before && { before }) })
  }

  t.test(`lists have no results (${name})`, async (t) => {
    const app = await serve(t, [big])
    const ids: string[] = []
    for (let index = 0; index < 25; index++) {
      const run = await app.runs.start(app.registry.get('agent', 'big')!, 'x')
      await run.result()
      ids.push(run.runId)
    }
    const { pages, largest } = await readPages(app, '/runs?limit=100')
    const runs = pages.flatMap((page) => page.runs)
    t.same(runs.map(({ runId }) => runId).toSorted(), ids.toSorted(), 'each is there once')
    t.ok(largest < MAX_PAGE, `${largest} bytes`)
    t.notOk('result' in runs[0]!)
    t.match(runs[0], { preview: /^“ünïcode” x+$/ })
    t.ok(runs[0]!.preview!.length <= 256)
    const { href } = runs[0]!
    const whole = await (await fetch(app.origin + href)).text()
    t.match(JSON.parse(whole), { result: { text: `“ünïcode” ${'x'.repeat(MEGABYTE)}` } })
  })

  t.test(`approvals come in pages, without large arguments (${name})`, async (t) => {
    const app = await serve(t, [asking])
    const started: Run[] = []
    for (const count of [40, 1, 15]) {
      const run = await app.runs.start(app.registry.get('agent', 'asking')!, `${count}`)
      started.push(run)
      let asked = 0
      for await (const part of run.parts())
        if (part.type === 'tool.approval.request' && ++asked === count) break
    }
    const { pages, largest } = await readPages(app, '/approvals?limit=7')
    const approvals = pages.flatMap((page) => page.approvals)
    t.equal(pages.length, 8)
    t.equal(new Set(approvals.map(({ approvalId }) => approvalId)).size, 56, 'each is there once')
    t.ok(largest < 16_384, `${largest} bytes`)
    const { href, args, argsPreview, argsBytes } = approvals[0]!
    t.equal(args, undefined)
    t.match(argsPreview, /^\{"file":"y+$/)
    t.equal(argsBytes, LONG + 11)
    const { argsPreview: _, ...listed } = approvals[0]!
    const whole = await (await fetch(app.origin + href)).json()
    t.same(whole, { ...listed, args: { file: 'y'.repeat(LONG) } })

    const [first] = started
    const own = await readPages(app, `/approvals?limit=30&runId=${first!.runId}`)
    t.equal(own.pages.flatMap((page) => page.approvals).length, 40)
    const record = await (await app.get(`/runs/${first!.runId}`)).text()
    t.ok(record.length < 65_536, `${record.length} bytes of a record`)
    t.match(JSON.parse(record), { pendingApprovalCount: 40 })
    await requireError(t, await app.get('/approvals/none'), 404, 'RUN_ERR_INPUT_NOT_FOUND')
    await requireError(t, await app.get('/approvals?cursor=1.x'), 400, 'REG_ERR_BAD_CURSOR')
    await requireError(t, await app.get('/approvals?limit=101'), 400, 'HTTP_ERR_VALIDATION')
  })
}
