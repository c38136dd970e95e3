import { setTimeout as pause } from 'node:timers/promises'
import { createRunEngine, defineRunnable, type NumberedPart, type RunEngine } from '@svc/registry'
import { codeOf } from '@svc/contract'
import { createStore } from '@svc/store'
import { startPostgres, type Postgres } from '@tools/postgres'
import t, { type Test } from 'tap'

t.setTimeout(90_000)

const server = await startPostgres().catch((err: Error) => err)
const lease = { ttl: 2_000, beat: 200 }

/** Says a text after each step, which takes some milliseconds, until it is told to end; what it says is never the same. */
const talker = defineRunnable({
  kind: 'agent',
  name: 'talker',
  resumable: true,
  async *stream(input, context) {
    for (let index = 0; ; index++) {
      const said = await context.step(`${index}`, async () => {
        await pause(20)
        return Math.random()
      })
      yield { type: 'text', text: `${String(input)} ${said} ` }
    }
  }
})

async function openNode(t: Test, { url }: Postgres, schema: string) {
  const store = await createStore({ url, schema, lease })
  const engine = createRunEngine({ stores: store })
  await engine.resume(talker)
  await store.lease!.whenHeld(new AbortController().signal)
  await engine.recover()
  t.teardown(async () => {
    await engine.close()
    await store.close()
  })
  return { store, engine }
}

/** Collects what a reader gets, until it ends; with the code of the error if it fails. */
function readAlong({ parts }: Pick<RunEngine, 'parts'>, runId: string, after = 0) {
  const read: NumberedPart[] = []
  const ended = (async () => {
    for await (const part of parts(runId, after)) read.push(part)
  })().then(
    () => 'whole',
    (err: unknown) => codeOf(err)
  )
  return { read, ended }
}

async function until(isTrue: () => unknown): Promise<void> {
  while (!(await isTrue())) await pause(20)
}

t.test('failovers', { skip: server instanceof Error && server.message }, async (t) => {
  if (server instanceof Error) return
  t.teardown(() => server.stop())

  await t.test('no part gets a number that a lost one had, and readers of lost ones are told', async (t) => {
    const [one, two] = [await openNode(t, server, 'lost'), await openNode(t, server, 'lost')]
    const policy = { onDisconnect: 'continue' } as const
    const run = await one.engine.start(talker, 'a', { sessionId: 's', ...policy })
    const early = readAlong(two.engine, run.runId)
    await until(() => early.read.length > 5)
    await server.pause('fast')
    await server.backUp()
    await server.resume()
    const kept = early.read.length
    const [here, there] = [readAlong(one.engine, run.runId), readAlong(two.engine, run.runId)]
    await until(() => [early, here, there].every(({ read }) => read.length > kept + 20))
    const later = await two.engine.start(talker, 'b', { sessionId: 't', ...policy })
    const gone = readAlong(two.engine, later.runId)
    await until(() => gone.read.length > 3)
    await server.pause('immediate')
    await server.restore()
    await server.resume()
    for (const reader of [early, here, there]) t.equal(await reader.ended, 'RUN_ERR_LOG_GONE')
    const seen = [...early.read, ...here.read, ...there.read]
    const again = readAlong(two.engine, run.runId)
    await until(() => again.read.some(({ type, seq }) => type === 'text' && seq > 1_000_000))
    const texts = new Map(again.read.map((part) => [part.seq, JSON.stringify(part)]))
    t.same(
      seen.filter(
        ({ seq, ...part }) => texts.has(seq) && texts.get(seq) !== JSON.stringify({ seq, ...part })
      ),
      [],
      'nothing else has a number that a reader has seen'
    )
    t.ok(
      seen.some(({ seq }) => !texts.has(seq)),
      'some of what they had seen was lost'
    )
    t.match(
      again.read.find(({ seq }) => seq > 1_000_000),
      { type: 'data', name: 'failover' }
    )
    t.equal(await one.engine.find(later.runId), undefined)
    await two.store.lease!.whenHeld(new AbortController().signal)
    const next = await two.engine.start(talker, 'c', { sessionId: 't', ...policy })
    const key = {
      registry: 'global',
      owner: 'anonymous',
      kind: 'agent',
      name: 'talker',
      sessionId: 't'
    } as const
    await until(async () => (await two.store.sessionIndex.runs(key, 0, 9)).length > 0)
    const [entered] = await two.store.sessionIndex.runs(key, 0, 9)
    t.match(entered, { runId: next.runId })
    t.ok(entered!.ordinal > 1_000_000, 'a place in a session is not given again')
    for (const { runId } of [run, next]) await two.engine.cancel(runId)
  })
})
