import {
  errorFromStored,
  RUN_ERR_CANCELED,
  toPartError,
  toStoredError,
  type RunContext,
  type RunInput,
  type Runnable,
  type RunResult,
  type StoredError,
  type YieldedPart
} from '@svc/contract'
import { failureOf, PartChannel, runChild, withSource, type ChildCall } from '../children/run-child.ts'
import { RUN_ERR_MEMBER_FORBIDDEN } from '../errors.ts'
import { RunEvents } from '../events/events.ts'
import { RunGuard } from '../guards/guard.ts'
import { beginLoop, createTurn } from '../loop/begin-loop.ts'
import type { LoopPlan } from '../loop/loop-plan.ts'
import type { ModelLoop } from '../loop/model-loop.ts'
import { createToolSet, type ToolSet } from '../tools/tool-set.ts'
import type { TeamPlan } from './plan-team.ts'
import type { MemberAnswer } from './team-options.ts'

/** How a member is called; the key distinguishes its calls, and is its name by default. */
type MemberCall = Pick<ChildCall, 'key' | 'unsourced' | 'answersCaller' | 'delivery'>

const failureKey = (key: string) => `#failure ${key}`

/** One run of a team. */
export class TeamRun {
  readonly plan: TeamPlan
  readonly context: RunContext
  readonly guard: RunGuard
  readonly events: RunEvents
  /** The parts of the members. */
  readonly channel = new PartChannel()
  constructor(plan: TeamPlan, context: RunContext) {
    this.plan = plan
    this.context = context
    this.guard = new RunGuard(context, plan.timeout)
    this.events = new RunEvents(context, plan.name, 'team')
  }

  get kind(): 'team' {
    return 'team'
  }

  get name(): string {
    return this.plan.name
  }

  /**
   * Runs a member and sends its parts to the channel.
   * @throws RUN_ERR_MEMBER_FORBIDDEN, RUN_ERR_BAD_INPUT, the member's error, or the reason why the run must end
   */
  async runMember(
    runnable: Runnable,
    input: RunInput,
    { key = runnable.name, unsourced = false, answersCaller = false, delivery }: MemberCall = {}
  ): Promise<RunResult> {
    const { name } = runnable
    const { context, channel } = this
    const { signal } = this.guard
    const { journal } = context
    const failure = await journal?.recall(failureKey(key))
    if (failure !== undefined) throw errorFromStored(failure.output as StoredError)
    try {
      await this.#authorize(runnable)
      if (journal !== undefined && runnable.resumable !== true) await this.#voidEarlier(name, unsourced)
      const call = { runnable, input, context, signal, name, key, unsourced, answersCaller, delivery }
      return await runChild({ ...call, emit: channel.put })
    } catch (err) {
      if (unsourced || signal.aborted) throw err
      const part = failureOf(name, err)
      await channel.put(journal?.record(part, failureKey(key), toStoredError(err)).part ?? part)
      throw err
    }
  }

  /** Ends the run and its members. */
  close(): void {
    this.guard.close()
    this.channel.close(new RUN_ERR_CANCELED())
  }

  async #authorize({ kind, name }: Runnable): Promise<void> {
    if (this.plan.delegates) return
    const decision = await this.guard.wait(this.context.authorize('run', { kind, name }))
    if (!decision.allowed) throw new RUN_ERR_MEMBER_FORBIDDEN(kind, name)
  }

  // A member without a journal begins again: what it said in an earlier process is void.
  async #voidEarlier(name: string, unsourced: boolean): Promise<void> {
    const { journal } = this.context.child(name, { unsourced })
    if (!journal?.begun) return
    const attempt = (journal.takeAttempt(0) || 1) + 1
    const part: YieldedPart = { type: 'step.start', index: 0, attempt }
    await this.channel.put(unsourced ? part : withSource(name, part))
  }
}

/** The answer of a member. */
export function toAnswer({ kind, name }: Runnable, { text, structured }: RunResult): MemberAnswer {
  return { kind, member: name, text, structured }
}

/** The answer of a member that failed; its error is public. */
export function toFailedAnswer({ kind, name }: Runnable, err: unknown): MemberAnswer {
  return { kind, member: name, text: '', structured: null, error: toPartError(toStoredError(err)) }
}

/** The part of an answer that a model or the next member receives. */
export function contentOf({ text, structured }: Pick<RunResult, 'text' | 'structured'>): unknown {
  return structured ?? text
}

/** An answer as a message, which is a text. */
export function toMessageText({ text, structured }: Pick<RunResult, 'text' | 'structured'>): string {
  return text === '' && structured !== null ? JSON.stringify(structured) : text
}

/** Lists the members for the leader's prompt. */
export function listMembers(members: readonly Runnable[], names = members.map(({ name }) => name)): string {
  return members
    .map(({ kind, description }, index) => `- ${names[index]}: ${description ?? `a ${kind}`}`)
    .join('\n')
}

/** The leader's turn in a run. */
export interface Leading {
  readonly begin: () => Promise<ModelLoop>
  readonly guard: RunGuard
  /** Ends the turn; discards it unless it is saved. */
  readonly close: () => void
}

/** Prepares the leader of a run for the task of its mode. */
export function leadRun(
  plan: LoopPlan,
  run: TeamRun,
  input: RunInput,
  task: string,
  tools: ToolSet = createToolSet([])
): Leading {
  const turn = createTurn(plan, run)
  return {
    begin: () => beginLoop(plan, run, turn, { input, sections: () => [task], tools: () => tools }),
    guard: run.guard,
    close: () => turn.end()
  }
}
