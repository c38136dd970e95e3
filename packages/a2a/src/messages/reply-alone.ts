import { within, type RunResult } from '@svc/contract'
import { loadResult } from '@svc/surface'
import type { Message } from '../model/message.ts'
import type { Outputs } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { replyMessage } from '../tasks/agent-messages.ts'
import { toReplyParts } from '../tasks/artifacts.ts'
import type { Accepted } from './start-task.ts'

/**
 * The answer of a run, as the only reply. Undefined if the run has not completed once it settles, or after `limit` milliseconds, when its
 * task is stored.
 */
export async function replyAlone(
  surface: Surface,
  outputs: Outputs,
  accepted: Accepted,
  settled: Promise<RunResult | undefined>,
  limit: number
): Promise<Message | undefined> {
  const { run } = accepted
  const result = (await within(limit, settled)) ?? (await readCompleted(surface, run.runId))
  if (result !== undefined && result.finishReason !== 'canceled')
    return replyMessage(run, await toReplyParts(result, run.runId, outputs))
  await accepted.store()
  return undefined
}

// Of a message that is repeated.
async function readCompleted({ runs }: Surface, runId: string): Promise<RunResult | undefined> {
  const run = await runs.find(runId)
  if (run?.status !== 'completed') return undefined
  return (await loadResult(runs.stores, run)) ?? undefined
}
