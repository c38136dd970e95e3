import type { SessionKey } from '@svc/registry'
import { codeOf, storedRun, textEntry } from '@svc/registry/testing'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

const RACES = 100
const never = new AbortController().signal
const completed = { status: 'completed', at: 3 } as const

await onPostgres(t, async (t, _open, url) => {
  const { open } = await createNodes(t, url)
  const [first, second] = [await open(), await open()]
  const nodes = [first, second]

  await t.test('starts with the same key', async (t) => {
    for (let race = 0; race < RACES; race++) {
      const runs = nodes.map(() => storedRun({ startKey: { key: `k${race}`, hash: 'h' } }))
      const earlier = await Promise.all(nodes.map(async (node, index) => node.runs.create(runs[index]!)))
      const winner = earlier.indexOf(undefined)
      t.equal(earlier[1 - winner]?.runId, runs[winner]?.runId)
    }
  })

  await t.test('turns of one session', async (t) => {
    const key: SessionKey = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' }
    let holders = 0
    let most = 0
    const turns = Array.from({ length: RACES }, async (_, turn) => {
      const { sessions } = nodes[turn % 2]!
      const aborted = turn % 7 === 0 ? AbortSignal.timeout(turn) : never
      const release = await (async () => sessions.lock(key, aborted))().catch(() => undefined)
      if (release === undefined) return
      most = Math.max(most, ++holders)
      await sessions.load(key, 1)
      holders--
      release()
    })
    await Promise.all(turns)
    t.equal(most, 1)
    const last = await first.sessions.lock(key, never)
    last()
  })

  await t.test('leases of a run that was released, and writes of its earlier node', async (t) => {
    for (let race = 0; race < RACES / 4; race++) {
      const { runId } = storedRun()
      await first.runs.create(storedRun({ runId }))
      await first.log.append(runId, 1, [textEntry(1)])
      const late = (async () => codeOf(() => first.log.append(runId, 1, [textEntry(2)], completed)))()
      await first.lease!.release(runId)
      const epoch = await second.runs.lease(runId)
      const ended = await late
      const parts = (await second.log.read(runId, 0, { entries: 9, bytes: 9_000 })).length
      const isEndedBefore = ended === 'none' && epoch === undefined && parts === 2
      const isFenced = ended === 'RUN_ERR_FENCED' && epoch === 2 && parts === 1
      t.ok(isEndedBefore || isFenced, `${ended} ${epoch} ${parts}`)
    }
  })
})
