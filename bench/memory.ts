import { median } from './figures.ts'
import { send } from './load.ts'
import { startServer, type ServerProcess } from './server-process.ts'
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
export async function reportMemory(): Promise<void> {
  const bare = await measure('bare-json')
  const run = await measure('run')
  console.log('\nmemory of one /run with 20 increments, and of the server after 100,000, in process memory\n')
  line('bytes allocated per request', run.allocated, bare.allocated, '≤ 40,000')
  line('bytes kept per finished run', run.kept, bare.kept, '≤ 3,500')
  const ratio = (run.peak / bare.peak).toFixed(2)
  const [ours, theirs] = [run.peak, bare.peak].map((bytes) => `${(bytes / 1e6).toFixed(0)} MB`)
  console.log(`${'peak resident memory'.padEnd(34)}${ours}, bare ${theirs}: × ${ratio}   target ≤ 2.5`)
}

async function measure(variant: string): Promise<Memory> {
  const { request } = VARIANTS.find(({ name }) => name === variant)!
  const server = await startServer(variant)
  try {
    await send(server, request, WARM_UP)
    const before = await heapOf(server, 'major')
    await send(server, request, KEPT)
    const kept = ((await heapOf(server, 'major')) - before) / KEPT
    const allocated: number[] = []
    for (let batch = 0; batch < BATCHES; batch++) {
      const start = await heapOf(server, 'minor')
      await send(server, request, BATCH)
      allocated.push(((await heapOf(server)) - start) / BATCH)
    }
    await send(server, request, ALL - WARM_UP - KEPT - BATCH * BATCHES)
    return { allocated: median(allocated), kept, peak: server.peakRss() }
  } finally {
    await server.stop()
  }
}

async function heapOf({ url }: ServerProcess, collect = ''): Promise<number> {
  return Number(await (await fetch(`${url}/heap?collect=${collect}`)).text())
}

function line(what: string, run: number, bare: number, target: string): void {
  console.log(`${what.padEnd(34)}${run.toFixed(0)}, bare ${bare.toFixed(0)}   target ${target}`)
}
