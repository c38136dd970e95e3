import { setImmediate } from 'node:timers/promises'
import { createRunEngine, defineRunnable } from '@svc/registry'
import { createStore } from '@svc/store'
import { median } from '../figures.ts'

/** What a run costs its process. */
export interface RunCost {
  readonly runsPerSecond: number
  /** CPU time of the process, in microseconds. */
  readonly cpuPerRun: number
  /** Milliseconds. */
  readonly p50: number
}

const WARM_UP = 1_000
const PARTS = 20

const speaker = defineRunnable({
  kind: 'agent',
  name: 'speaker',
  async *stream() {
    for (let index = 0; index < PARTS; index++) {
      if (index % 4 === 0) await setImmediate()
      yield { type: 'text' as const, text: `word${index} ` }
    }
  }
})

/** Measures runs of 20 parts, `atOnce` at a time, for `duration` milliseconds; without a URL the stores are in memory. */
async function measure(url: string, atOnce: number, duration: number): Promise<RunCost> {
  const stores = url === '' ? undefined : await createStore({ url })
  const engine = createRunEngine({ limits: { maxRuns: 100_000 }, ...(stores && { stores }) })
  const times: number[] = []
  const run = async (end: number) => {
    while (performance.now() < end) {
      const begun = performance.now()
      const started = await engine.start(speaker, 'go')
      await started.result()
      times.push(performance.now() - begun)
    }
  }
  const all = (end: number) => Promise.all(Array.from({ length: atOnce }, () => run(end)))
  await all(performance.now() + WARM_UP)
  times.length = 0
  const before = process.cpuUsage()
  const begun = performance.now()
  await all(begun + duration)
  const elapsed = performance.now() - begun
  const { user, system } = process.cpuUsage(before)
  await engine.close()
  await stores?.close()
  return {
    runsPerSecond: (times.length * 1_000) / elapsed,
    cpuPerRun: (user + system) / times.length,
    p50: median(times)
  }
}

const [url = '', atOnce = '50', duration = '4000'] = process.argv.slice(2)
process.send!(await measure(url, Number(atOnce), Number(duration)))
process.disconnect()
