import { type AcceptedMessage, type RunInput, type YieldedPart } from '@svc/contract'
import { recordedAnswer } from '../children/run-child.ts'
import { DeliveredTurn } from '../loop/delivered-turn.ts'
import { loadFiles, type Turn } from '../sessions/turn.ts'
import { toBlockedError } from './middleware.ts'
import type { HookedRun, Message, RunHooks } from './run-hooks.ts'

/**
 * Has the input of a run checked before anything else. Yields the parts about it; returns the input that counts, or undefined if the run
 * is over: the answer of a middleware is then yielded, and kept in the session.
 * @param turn of its session
 * @throws RUN_ERR_BLOCKED, RUN_ERR_GUARD_FAILED, exposed errors of hooks, RUN_ERR_STORE, why the run must end
 */
export async function* enterRun(
  run: HookedRun,
  hooks: RunHooks,
  message: Omit<Message, 'number'>,
  turn?: Turn
): AsyncGenerator<YieldedPart, { readonly input: RunInput } | undefined, void> {
  const { input, block, parts } = await hooks.enter({ ...message, number: 0 })
  yield* parts
  if (block === undefined) return { input }
  if (block.answer === undefined) throw toBlockedError(block)
  yield* answerFor(run, turn, input, block.answer)
  return undefined
}

async function* answerFor(
  { context, guard }: HookedRun,
  turn: Turn | undefined,
  input: RunInput,
  text: string
): AsyncGenerator<YieldedPart, void> {
  try {
    await turn?.lock()
    await turn?.ask(await loadFiles(input as AcceptedMessage))
    const message = turn?.addText(text)
    yield* recordedAnswer(context.journal, { text, structured: null })
    if (turn !== undefined && context.delivery !== undefined) {
      const delivered = new DeliveredTurn(context.delivery, turn, context)
      delivered.send({ text }, true, false)
      delivered.record(message)
      await guard.wait(delivered.settled())
    }
    await turn?.save(context)
  } finally {
    turn?.end()
  }
  yield { type: 'finish', finishReason: 'content-filter' }
}
