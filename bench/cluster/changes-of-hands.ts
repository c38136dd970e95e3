import { setTimeout as sleep } from 'node:timers/promises'
import { NodeProcess } from './node-process.ts'
import type { Order, Report } from './working-node.ts'

/** How the node ends that has the runs. */
export type NodeEnd = 'closed' | 'killed'

const RUNS = 100
const WORKING = 2_000

/**
 * Measures how long runs stand still when their node ends: milliseconds from its end until another node begins each of them.
 * @param schema one that no other measurement uses
 */
export async function measureStandstill(url: string, schema: string, end: NodeEnd): Promise<number[]> {
  const nodes = [0, 1].map(() => new NodeProcess('working-node.ts', url, schema))
  const [first, second] = nodes as [NodeProcess, NodeProcess]
  try {
    for (const node of nodes) await node.next<Report>()
    first.send({ type: 'start', runs: RUNS } satisfies Order)
    await first.next<Report>()
    await sleep(WORKING)
    second.send({ type: 'await', runs: RUNS } satisfies Order)
    const ended = performance.timeOrigin + performance.now()
    if (end === 'closed') first.send({ type: 'close' } satisfies Order)
    else await first.stop()
    const report = await second.next<Report>()
    if (report.type !== 'begun') throw new Error(`expected times, found ${report.type}`)
    return report.times.map((time) => time - ended).toSorted((a, b) => a - b)
  } finally {
    await Promise.all(nodes.map((node) => node.stop()))
  }
}
