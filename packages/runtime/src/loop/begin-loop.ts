import {
  isPromise,
  type AcceptedMessage,
  type Awaitable,
  type PartSink,
  type RunContext,
  type RunInput
} from '@svc/contract'
import { requireInput } from '@svc/registry/engine'
import type { RunEvents } from '../events/events.ts'
import type { RunGuard } from '../guards/guard.ts'
import { isContinued, questionOf, takeMessage, Turn } from '../sessions/turn.ts'
import { addClientTools, createClientTools } from '../tools/client-tools.ts'
import type { ToolSet } from '../tools/tool-set.ts'
import { LoopJournal } from './loop-journal.ts'
import type { LoopPlan } from './loop-plan.ts'
import { ModelLoop } from './model-loop.ts'
import { joinSections } from './steps.ts'

/** One run of an agent or a team. */
export interface LoopRun {
  readonly kind: 'agent' | 'team'
  readonly name: string
  readonly context: RunContext
  readonly guard: RunGuard
  readonly events: RunEvents
  /** Where the parts of models go, unless they are pulled. */
  readonly sink?: PartSink | undefined
}

/** The turn of a run, before it begins; without a store if the caller keeps the conversation. */
export function createTurn(
  { sessions }: Pick<LoopPlan, 'sessions'>,
  { kind, name, context, guard }: LoopRun
): Turn {
  const { registry, sessionOwner: owner, sessionId, stores, messages, idempotencyKey } = context
  const store = messages === undefined ? (sessions ?? stores.sessions) : undefined
  return new Turn(store, { registry, owner, kind, name, sessionId }, idempotencyKey, guard)
}

/** The start of a loop. */
export interface LoopStart {
  readonly input: RunInput
  /** As in `TurnStart`. */
  readonly words?: Promise<string | undefined> | undefined
  /** Resolves the tools of the run. */
  readonly tools: () => Awaitable<ToolSet>
  /** Returns the sections after the instructions in the system prompt, for the text of the input. */
  readonly sections: (text: string) => Awaitable<readonly (string | undefined)[]>
}

/**
 * Begins the turn of a run: instructions, history and input become the first prompt, unless an earlier process recorded it.
 * @throws RUN_ERR_BAD_INPUT, RUN_ERR_TOOL_NAME_TAKEN, RUN_ERR_URL_…, RUN_ERR_STORE, RUN_ERR_BAD_MODEL, RUN_ERR_BAD_AGENT
 */
export async function beginLoop(
  plan: LoopPlan,
  run: LoopRun,
  turn: Turn,
  start: LoopStart
): Promise<ModelLoop> {
  const { context, guard } = run
  const { input } = start
  guard.check()
  if (!isContinued(input, context)) requireInput({}, input)
  // Before anything that takes time: turns of a session follow in the order in which their runs were accepted.
  await turn.lock()
  const settle = <T>(work: Awaitable<T>): Awaitable<T> => (isPromise(work) ? guard.wait(work) : work)
  const journal = LoopJournal.of(context, guard)
  const recorded = journal && (await journal.recallLoop())
  const model = await settle(plan.resolveModel(context))
  const addTools = async (own: Awaitable<ToolSet>) =>
    addClientTools(await own, await createClientTools(context))
  const tools = () => {
    const own = settle(start.tools())
    return context.clientTools.length === 0 ? own : addTools(own)
  }
  if (recorded !== undefined) {
    turn.restore(recorded)
    const { sections } = recorded
    return new ModelLoop(plan, run, { turn, model, sections, journal, tools: await tools() })
  }
  const message =
    input === undefined
      ? undefined
      : await takeMessage(input as AcceptedMessage, { model, guard, urls: plan.urls })
  const { instructions } = plan
  const text = await settle(typeof instructions === 'function' ? instructions(context) : instructions)
  const own = await settle(start.sections(questionOf(message?.input, context)))
  const rest = [context.instructions, ...own]
  await turn.begin({
    message,
    kept: context.messages,
    system: joinSections([text, ...rest]),
    isNew: context.newSession,
    limits: plan.history,
    model,
    words: start.words
  })
  return new ModelLoop(plan, run, { turn, model, sections: rest, journal, tools: await tools() })
}
