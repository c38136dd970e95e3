import { reachesOwner } from '@svc/contract'
import type { KeyedLock } from '@svc/contract/stores'
import type { Call, SendRequest } from '../model/requests.ts'
import { requireExtensions } from '../service/extensions.ts'
import { requirePushes, type Surface } from '../service/surface.ts'
import { answerTask } from './answer-task.ts'
import { asAnswer } from './as-answer.ts'
import { chooseAgent, lastTaskOf, requireMayRun } from './choose-agent.ts'
import { asOwnTask } from './own-task.ts'
import { requireInputModes, requireOutputModes } from './require-modes.ts'
import { toStartKey } from './start-key.ts'
import { startTask, type Accepted } from './start-task.ts'
import { waitUntilSettled } from './wait-until-settled.ts'

/**
 * Starts a task for a message, or passes it to the task that it names. A repetition of a message is accepted once
 * within `dedupeWindow`.
 * @throws what `answerTask`, `chooseAgent` and `RunEngine.start` throw, A2A_ERR_EXTENSION_REQUIRED, A2A_ERR_FORBIDDEN,
 * A2A_ERR_NO_PUSH, A2A_ERR_CONTENT_TYPE
 */
export async function acceptMessage(surface: Surface, call: Call, request: SendRequest): Promise<Accepted> {
  const { push, message } = request
  requireExtensions(surface.extensions, call.extensions)
  if (push !== undefined) await requirePushes(surface).check(push.url, call.principal.sub)
  const key = toStartKey(message, surface, call) && `message ${call.principal.sub} ${message.messageId}`
  return inTurn(surface.turns, key, () => dispatch(surface, call, request))
}

async function dispatch(surface: Surface, call: Call, request: SendRequest): Promise<Accepted> {
  const { push, message } = request
  const { taskId, contextId } = message
  if (taskId !== undefined) {
    const run = await inTurn(surface.turns, `task ${taskId}`, () => answerTask(surface, call, request))
    if (run === undefined) return dispatch(surface, call, await asOwnTask(surface, request))
    if (!reachesOwner(call.principal, run.owner))
      return { run, isOfAnother: true, settled: async () => undefined }
    if (push !== undefined) await surface.pushes!.add(run, push, call)
    return { run, settled: () => waitUntilSettled(surface.runs, run.runId) }
  }
  const findLast = contextId === undefined ? undefined : lastTaskOf(surface, call, contextId)
  const answer = findLast && (await asAnswer(surface, call, request, findLast))
  if (answer !== undefined) return dispatch(surface, call, answer)
  const agent = await chooseAgent(surface, call, request, findLast)
  await requireMayRun(surface, call, agent)
  requireInputModes(surface, agent, message.parts)
  requireOutputModes(surface, agent, request)
  return startTask(surface, call, request, agent)
}

const NEVER = new AbortController().signal

/** Runs actions with the same key one after another; without a key, at once. */
async function inTurn<T>(turns: KeyedLock, key: string | undefined, act: () => Promise<T>): Promise<T> {
  if (key === undefined) return act()
  const release = await turns.lock(key, NEVER)
  try {
    return await act()
  } finally {
    release()
  }
}
