import { median, percentile } from './figures.ts'
import { openStream } from './open-stream.ts'
import { FIRST_TOKEN } from './quick.ts'
import { startServer, type ServerProcess } from './server-process.ts'
import { STREAM } from './variants.ts'

const CONNECTIONS = 50
const STREAMS = 20

/** Shows what we add to the time until the first token, beside a bare stream of a model that takes as long. */
export async function report(rounds: number): Promise<void> {
  const [bare, ours] = [await startServer('bare-first'), await startServer('stream-first')]
  const paths = new Map([
    [bare, '/stream'],
    [ours, STREAM.path]
  ])
  const times = new Map([bare, ours].map((server) => [server, [] as number[][]]))
  try {
    for (let round = 0; round <= rounds; round++)
      for (const [server, path] of paths) {
        const sorted = await measure(server, path)
        // The first one warms up.
        if (round > 0) times.get(server)!.push(sorted)
      }
  } finally {
    for (const server of [bare, ours]) await server.stop()
  }
  console.log(
    `\nfirst token of a model that takes ${FIRST_TOKEN} ms, ${CONNECTIONS} connections, ms, median of ${rounds} rounds\n`
  )
  for (const [name, share] of [
    ['p50', 0.5],
    ['p99', 0.99]
  ] as const) {
    const [a, b] = [bare, ours].map((server) =>
      median(times.get(server)!.map((sorted) => percentile(sorted, share)))
    )
    console.log(`${name}   bare ${a!.toFixed(1)}   ours ${b!.toFixed(1)}   own part ${(b! - a!).toFixed(1)}`)
  }
}

/** Milliseconds until the first token of each stream, sorted. */
async function measure({ url }: ServerProcess, path: string): Promise<number[]> {
  const times: number[] = []
  const work = async () => {
    for (let stream = 0; stream < STREAMS; stream++) {
      const begun = performance.now()
      const reader = await openStream(url, { ...STREAM, path })
      times.push(performance.now() - begun)
      while (!(await reader.read()).done);
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work))
  return times.toSorted((a, b) => a - b)
}
