import { setImmediate } from 'node:timers/promises'
import { createRunEngine, defineRunnable } from '@svc/registry'
import { createStore } from '@svc/store'
import { median } from '../figures.ts'

/** What the runs write: parts as they are, or increments of text, which a store may join as long as they have no reader. */
export type Written = 'data' | 'text'

/** What a run costs its process. */
export interface RunCost {
  readonly runsPerSecond: number
  /** CPU time of the process, in microseconds. */
  readonly cpuPerRun: number
  /** Milliseconds. */
  readonly p50: number
}

// Milliseconds.
const WARM_UP = 1_000
const DURATION = 4_000
const AT_ONCE = 50
const PARTS = 20

const createSpeaker = (written: Written) =>
  defineRunnable({
    kind: 'agent',
    name: 'speaker',
    async *stream() {
      for (let index = 0; index < PARTS; index++) {
        if (index % 4 === 0) await setImmediate()
        const text = `word${index} `
        yield written === 'text' ? { type: 'text', text } : { type: 'data', name: 'word', value: text }
      }
    }
  })

/** Measures runs of 20 parts, 50 at a time; without a URL the stores are in memory. */
async function measure(url: string, written: Written): Promise<RunCost> {
  const stores = url === '' ? undefined : await createStore({ url })
  const engine = createRunEngine({ limits: { maxRuns: 100_000 }, ...(stores && { stores }) })
  const speaker = createSpeaker(written)
  const times: number[] = []
  const run = async (end: number) => {
    while (performance.now() < end) {
      const begun = performance.now()
      const started = await engine.start(speaker, 'go')
      await started.result()
      times.push(performance.now() - begun)
    }
  }
  const all = (end: number) => Promise.all(Array.from({ length: AT_ONCE }, () => run(end)))
  await all(performance.now() + WARM_UP)
  times.length = 0
  const before = process.cpuUsage()
  const begun = performance.now()
  await all(begun + DURATION)
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

const [url = '', written = 'data'] = process.argv.slice(2)
process.send!(await measure(url, written as Written))
process.disconnect()
