import { setTimeout as sleep } from 'node:timers/promises'
import { storedRun } from '@svc/registry/testing'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'

const HOUR = 3_600_000
const lease = { ttl: 400, beat: 50 }

await onPostgres(t, async (t, _open, url) => {
  for (const skew of [HOUR, -HOUR])
    await t.test(
      `a node whose clock is ${skew / HOUR} h off neither takes runs nor loses its own`,
      async (t) => {
        const { open } = await createNodes(t, url)
        const right = await open({ lease })
        const now = Date.now
        Date.now = () => now() + skew
        t.teardown(() => void (Date.now = now))
        const wrong = await open({ lease })
        const lost: string[] = []
        for (const [name, store] of Object.entries({ right, wrong })) {
          await store.runs.create(storedRun())
          store.lease!.onLost(() => void lost.push(name))
        }
        await sleep(4 * lease.ttl)
        t.same(lost, [])
        for (const store of [right, wrong]) {
          t.equal(store.lease!.held, true)
          t.same((await store.runs.listLeft({ limit: 9 })).runs, [])
        }
      }
    )
})
