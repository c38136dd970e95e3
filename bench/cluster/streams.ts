import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { createRunEngine, defineRunnable } from '@svc/registry'
import { createStore } from '@svc/store'

/** What a process is asked to do. */
export type Asked =
  | {
      readonly type: 'produce'
      readonly runs: number
      readonly rate: number | null
      readonly duration: number
    }
  | { readonly type: 'follow'; readonly runIds: readonly string[] }
  | { readonly type: 'finish' }

/** What a process reports. */
export type Reported =
  | { readonly type: 'ready' }
  | { readonly type: 'started'; readonly runIds: readonly string[] }
  | { readonly type: 'produced'; readonly parts: number; readonly elapsed: number; readonly cpu: number }
  | {
      readonly type: 'followed'
      readonly delays: readonly number[]
      readonly gaps: number
      readonly cpu: number
    }

const stores = await createStore({ url: process.argv[2]! })
const engine = createRunEngine({ stores, limits: { maxRuns: 100_000 } })
const delays: number[] = []
const following: Promise<void>[] = []
let gaps = 0
let before = process.cpuUsage()

// The same for all processes of a machine.
const now = () => performance.timeOrigin + performance.now()
const report = (message: Reported) => process.send!(message)
const usedCpu = () => {
  const { user, system } = process.cpuUsage(before)
  return user + system
}

async function follow(runId: string): Promise<void> {
  let last = 0
  for await (const part of engine.parts(runId)) {
    if (part.seq !== last + 1) gaps++
    last = part.seq
    if (part.type === 'data') delays.push(now() - Number(part.value))
  }
}

/** Runs that write a part `rate` times a second each, as many as they can for a null; each part is the time of its creation. */
async function produce(runs: number, rate: number | null, duration: number): Promise<void> {
  let parts = 0
  const begun = performance.now()
  const speaker = defineRunnable({
    kind: 'agent',
    name: 'speaker',
    async *stream() {
      const first = performance.now() + (rate === null ? 0 : (Math.random() * 1_000) / rate)
      for (let index = 0; performance.now() < begun + duration; index++) {
        const wait = rate === null ? 0 : first + (index * 1_000) / rate - performance.now()
        if (rate === null) await setImmediate()
        else if (wait > 0) await sleep(wait)
        parts++
        // Text would be joined until the readers follow.
        yield { type: 'data' as const, name: 'time', value: now() }
      }
    }
  })
  const started = await Promise.all(Array.from({ length: runs }, async () => engine.start(speaker, 'go')))
  report({ type: 'started', runIds: started.map(({ runId }) => runId) })
  await Promise.all(started.map(async (run) => run.result()))
  report({ type: 'produced', parts, elapsed: performance.now() - begun, cpu: usedCpu() })
}

process.on('message', (asked: Asked) => {
  if (asked.type !== 'finish') before = process.cpuUsage()
  if (asked.type === 'produce') void produce(asked.runs, asked.rate, asked.duration)
  else if (asked.type === 'follow') for (const runId of asked.runIds) following.push(follow(runId))
  else void Promise.all(following).then(() => report({ type: 'followed', delays, gaps, cpu: usedCpu() }))
})
report({ type: 'ready' })
