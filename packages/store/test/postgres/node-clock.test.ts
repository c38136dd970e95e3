import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { storedRun } from '@svc/testing'
import t from 'tap'
import { onPostgres } from '../helpers/each-store.ts'
import { createNodes } from '../helpers/nodes.ts'
import type { SkewedReport } from '../helpers/skewed-node.ts'

const HOUR = 3_600_000
const MINUTE = 60_000
const lease = { ttl: 1_500, beat: 150 }
const program = fileURLToPath(new URL('../helpers/skewed-node.ts', import.meta.url))

await onPostgres(t, async (t, _open, url) => {
  const { schema, open } = await createNodes(t, url)
  const store = await open({ lease })
  let timesLost = 0
  store.lease!.onLost(() => void timesLost++)
  await store.runs.create(storedRun())
  const skewed = [HOUR, -HOUR].map((skew) =>
    fork(program, [url, schema, JSON.stringify(lease), String(skew)], {
      execArgv: ['--conditions=@svc/source']
    })
  )
  for (const node of skewed) t.teardown(() => node.kill())
  await Promise.all(skewed.map((node) => once(node, 'message')))
  await sleep(2 * lease.ttl)
  for (const node of skewed) {
    node.send('report')
    const [report] = (await once(node, 'message')) as [SkewedReport]
    const { now, ...rest } = report
    t.ok(Math.abs(now - Date.now()) < MINUTE, 'it knows the clock of the database')
    t.same(
      rest,
      { held: true, timesLost: 0, left: 0 },
      'a node whose clock is off takes nothing and loses nothing'
    )
  }
  t.equal(store.lease!.held, true)
  t.equal(timesLost, 0)
})
