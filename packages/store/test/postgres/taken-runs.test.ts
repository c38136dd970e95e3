import { setImmediate as turn } from 'node:timers/promises'
import { entryFromJson } from '@svc/contract/stores'
import { createRunEngine, defineRunnable } from '@svc/registry'
import { storedRun, textEntry } from '@svc/testing'
import t, { type Test } from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

t.setTimeout(120_000)

const lease = { ttl: 60_000, beat: 20_000 }
const key = {
  registry: 'global',
  owner: 'anonymous',
  kind: 'agent',
  name: 'talker',
  sessionId: 's'
} as const
const after = (seq: number) => `1.${seq}`

// A node that stood still learns of its death when it writes next, or later: its readers belong to runs that others go on with.
await onPostgres(t, async (t, _open, url) => {
  /** A run whose first part is written, and which another node has taken from the first one, that does not know it. */
  async function takeRun(t: Test) {
    const { open, admin, schema } = await createNodes(t, url)
    const [stores, other] = [await open({ lease }), await open({ lease })]
    const engine = createRunEngine({ stores })
    const goesOn = Promise.withResolvers<void>()
    t.teardown(async () => {
      goesOn.resolve()
      await engine.close()
    })
    const talker = defineRunnable({
      kind: 'agent',
      name: 'talker',
      async *stream() {
        yield { type: 'text', text: 'first' }
        await goesOn.promise
        yield { type: 'text', text: 'late' }
      }
    })
    const { runId } = await engine.start(talker, 'Go.', { sessionId: 's' })
    const parts = engine.sessions.parts(key, '0.0')
    let seq = 1
    while ((await parts.next()).value?.part.type !== 'text') seq++
    await admin.query(`update ${schema}.run set node_id = null`)
    const epoch = (await other.runs.lease(runId))!
    return {
      /** Lets the first node write what is refused, and give the run up. */
      async writesLate() {
        goesOn.resolve()
        while (engine.active > 0) await turn()
      },
      /** Ends the run on the node that has it. */
      async end() {
        const part = { seq: seq + 2, type: 'finish', at: Date.now(), finishReason: 'stop' }
        const change = { status: 'completed', at: Date.now() } as const
        await other.log.append(
          runId,
          epoch,
          [textEntry(seq + 1), entryFromJson(part.seq, JSON.stringify(part))],
          change
        )
      },
      seq,
      engine,
      parts
    }
  }

  const rest = (seq: number) => [
    { id: after(seq + 1), part: { text: `part ${seq + 1}` } },
    { id: after(seq + 2), part: { type: 'finish' } }
  ]

  await t.test('a reader follows a run that its node has lost when a part is refused', async (t) => {
    const { end, parts, seq, writesLate } = await takeRun(t)
    const next = parts.next()
    await writesLate()
    await end()
    t.match([(await next).value, (await parts.next()).value], rest(seq))
  })

  await t.test('a reader on the node that does not know its loss gets the end of the run', async (t) => {
    const { end, engine, seq } = await takeRun(t)
    await end()
    const parts = engine.sessions.parts(key, after(seq))
    t.match([(await parts.next()).value, (await parts.next()).value], rest(seq))
    await parts.return()
  })

  await t.test('a node that stood still reads what others may have written meanwhile', async (t) => {
    const { open, admin, schema } = await createNodes(t, url)
    const [stores, other] = [await open({ lease: { ttl: 1_000, beat: 200 } }), await open({ lease })]
    const { runId } = storedRun()
    await stores.runs.create(storedRun({ runId }))
    await stores.log.append(runId, 1, [textEntry(1)])
    await admin.query(`update ${schema}.run set node_id = null`)
    await other.log.append(runId, (await other.runs.lease(runId))!, [textEntry(2)])
    const still = new Int32Array(new SharedArrayBuffer(4))
    while (stores.lease!.held) Atomics.wait(still, 0, 0, 50)
    t.match(await stores.log.read(runId, 1, { entries: 9, bytes: 999 }), [{ seq: 2 }])
  })
})
