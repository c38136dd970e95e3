import type { NumberedPart } from '@svc/registry'
import { followRun } from '../agents/follow-run.ts'
import { Random } from '../random.ts'
import { approve, startRun, type Surface } from './clients.ts'
import type { Reach } from './reach.ts'
import type { RunnableName } from './runnables.ts'

/** A run with its readers, from its start to its end. */
export interface WatchedRun {
  readonly name: RunnableName
  readonly runId: string
  /** The JSON of the parts that each reader received. */
  readonly received: readonly (readonly string[])[]
  /** Why a reader did not reach the end. */
  readonly faults: readonly string[]
}

// Milliseconds without a part after which a reader connects to another node.
const PATIENCE = 4_000

/** Starts a run and reads it on the node that took it and on others; approves what it asks for on any node. */
export async function watchRun(
  reach: Reach,
  random: Random,
  name: RunnableName,
  surface: Surface
): Promise<WatchedRun> {
  const seeds = [random.below(1e9), random.below(1e9)]
  const { runId, url } = await startRun(reach, name, surface)
  const faults: string[] = []
  const approving: Promise<void>[] = []
  const read = async (from: Reach, seed: number, isFirst: boolean) => {
    const received: string[] = []
    const onPart = (part: NumberedPart, json: string) => {
      received.push(json)
      if (isFirst && part.type === 'tool.approval.request') approving.push(approve(reach, part.approvalId))
    }
    await followRun(from, runId, { random: new Random(seed), onPart, patience: PATIENCE }).catch(
      (err: Error) => faults.push(err.message)
    )
    return received
  }
  const received = await Promise.all([
    read(reach.prefer(url), seeds[0]!, true),
    read(reach, seeds[1]!, false)
  ])
  for (const { status, reason } of (await Promise.allSettled(approving)) as {
    status: string
    reason?: Error
  }[])
    if (status === 'rejected') faults.push(String(reason))
  return { name, runId, received, faults }
}
