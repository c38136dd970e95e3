import { storedRun } from '@svc/testing'
import { createStore } from '@svc/store'

/** What a node reports that its parent asks. */
export interface SkewedReport {
  readonly held: boolean
  readonly timesLost: number
  /** Runs that it could take. */
  readonly left: number
  /** The time by the clock of its store. */
  readonly now: number
}

// A node whose clock is off, with a run of its own, until it is killed.
const [url = '', schema = '', lease = '{}', skew = '0'] = process.argv.slice(2)
const now = Date.now
Date.now = () => now() + Number(skew)
const store = await createStore({ url, schema, lease: JSON.parse(lease) as object })
let timesLost = 0
store.lease!.onLost(() => void timesLost++)
await store.runs.create(storedRun())
process.send!('ready')
process.once('message', async () => {
  const { runs } = await store.runs.listLeft({ limit: 9 })
  process.send!({
    held: store.lease!.held,
    timesLost,
    left: runs.length,
    now: store.lease!.now()
  } satisfies SkewedReport)
})
