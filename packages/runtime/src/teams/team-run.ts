import { createHash } from 'node:crypto'
import {
  RUN_ERR_CANCELED,
  type RunContext,
  type RunInput,
  type Runnable,
  type RunResult
} from '@svc/registry'
import { RunGuard } from '../guards/run-guard.ts'
import { PartChannel } from '../children/part-channel.ts'
import { runChild, type ChildCall } from '../children/run-child.ts'
import { failureOf } from '../children/child-parts.ts'
import { RUN_ERR_MEMBER_FORBIDDEN } from '../errors.ts'
import { RunEvents } from '../events/run-events.ts'
import type { TeamPlan } from './plan-team.ts'

/** How a member is called. */
type MemberCall = Pick<ChildCall, 'unsourced' | 'answersCaller'>

/** One run of a team. */
export class TeamRun {
  readonly plan: TeamPlan
  readonly context: RunContext
  readonly guard: RunGuard
  readonly events: RunEvents
  /** The parts of the members. */
  readonly channel = new PartChannel()
  readonly #calls = new Map<string, number>()

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
    { unsourced = false, answersCaller = false }: MemberCall = {}
  ): Promise<RunResult> {
    const { name } = runnable
    const { context, channel } = this
    const { signal } = this.guard
    try {
      await this.#authorize(runnable)
      const key = this.#keyOf(name, input)
      const call = { runnable, input, context, signal, name, key, unsourced, answersCaller }
      return await runChild({ ...call, emit: channel.put })
    } catch (err) {
      if (!unsourced && !signal.aborted) await channel.put(failureOf(name, err))
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

  // A leader may ask a member several times, and after a restart something else: the journal of one question must not
  // answer another.
  #keyOf(name: string, input: RunInput): string {
    const hash = createHash('sha256')
      .update(JSON.stringify(input) ?? '')
      .digest('base64url')
      .slice(0, 16)
    const key = `${name}#${hash}`
    const count = (this.#calls.get(key) ?? 0) + 1
    this.#calls.set(key, count)
    return `${key}#${count}`
  }
}
