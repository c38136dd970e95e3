import { storedRun, textEntry } from '@svc/testing'
import type { Store } from '@svc/store'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

const completed = { status: 'completed', at: 3, preview: 'done' } as const
const never = new AbortController().signal
const key = { registry: 'global', owner: 'ada', kind: 'agent', name: 'echo', sessionId: 's' } as const

await onPostgres(t, async (t, _open, url) => {
  const { open } = await createNodes(t, url)
  const [first, second] = [await open(), await open()]
  const startRun = async ({ runs }: Store) => {
    const run = storedRun()
    await runs.create(run)
    return run.runId
  }

  await t.test('of 20 that take the turn only if it is free, on two nodes, one gets it', async (t) => {
    const takers = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? first : second))
    const ids = await Promise.all(takers.map(startRun))
    const places = await Promise.all(
      takers.map(async ({ sessions }, index) => sessions.place!(key, ids[index]!, true))
    )
    const won = places.findIndex(({ position }) => position === 0)
    t.equal(places.filter(({ position }) => position === 0).length, 1)
    const named = new Set(places.flatMap(({ active }) => active ?? []))
    t.same([...named], [ids[won]], 'the others learn which run has it')
    const next = await startRun(second)
    const place = await second.sessions.place!(key, next)
    t.match(place, { position: 1, active: ids[won] })
    t.same((await first.sessions.places!([next])).get(next), { position: 1, active: ids[won] })
    const node = won % 2 === 0 ? first : second
    await node.log.append(ids[won]!, 1, [textEntry(1)], completed)
    const end = await second.sessions.lock(key, never, next)
    end()
  })
})
