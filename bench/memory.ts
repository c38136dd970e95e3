import { median, printBeside } from './figures.ts'
import { send } from './load.ts'
import { memoryOf } from './memory-route.ts'
import { startServer } from './server-process.ts'
import { VARIANTS } from './variants.ts'

/** Runs before anything is counted: compiled code and full tables are of no request. */
const WARM_UP = 4_000
const KEPT = 4_000
/** Few enough for the young generation, so that nothing is collected while they are counted. */
const BATCH = 100
const BATCHES = 15
const ALL = 100_000

interface Memory {
  /** Bytes that one request allocates. */
  readonly allocated: number
  /** Bytes that one request leaves after a garbage collection. */
  readonly kept: number
  /** The most bytes resident after 100,000 requests. */
  readonly peak: number
}

/** Shows what a run costs in memory, with the default retention, beside a bare Fastify route. */
export async function report(): Promise<void> {
  const bare = await measure('bare-json')
  const run = await measure('run')
  console.log('\nmemory of one /run with 20 increments, and of the server after 100,000, in process memory\n')
  printBeside('bytes allocated', bare.allocated, run.allocated, { most: 40_000 })
  printBeside('bytes kept of a finished run', bare.kept, run.kept, { most: 3_500 })
  printBeside('peak resident memory, MB', bare.peak / 1e6, run.peak / 1e6, { times: 2.2 })
}

async function measure(variant: string): Promise<Memory> {
  const { request } = VARIANTS.find(({ name }) => name === variant)!
  const server = await startServer(variant)
  try {
    await send(server, request, WARM_UP)
    // First: a full collection makes the young generation small.
    const allocated: number[] = []
    for (let batch = 0; batch < BATCHES; batch++) {
      const start = (await memoryOf(server, 'minor')).heap
      await send(server, request, BATCH)
      allocated.push(((await memoryOf(server, 'none')).heap - start) / BATCH)
    }
    const before = (await memoryOf(server, 'all')).heap
    await send(server, request, KEPT)
    const kept = ((await memoryOf(server, 'all')).heap - before) / KEPT
    await send(server, request, ALL - WARM_UP - KEPT - BATCH * BATCHES)
    return { allocated: median(allocated), kept, peak: server.peakRss() }
  } finally {
    await server.stop()
  }
}
