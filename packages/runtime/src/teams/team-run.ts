import {
  errorFromStored,
  MessageInputSchema,
  requireName,
  requireOptions,
  toPartError,
  toStoredError,
  type RunContext,
  type RunInput,
  type Runnable,
  type RunResult,
  type SessionMessage,
  type SessionStore,
  type StoredError,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_CANCELED } from '@svc/contract/errors'
import { defineRunnable } from '@svc/registry'
import { nameOf, prefixErrors } from '../checks/option-errors.ts'
import { failureOf, PartChannel, runChild, withSource, type ChildCall } from '../children/run-child.ts'
import { RUN_ERR_BAD_TEAM, RUN_ERR_MEMBER_FORBIDDEN } from '../errors.ts'
import { RunEvents } from '../events/events.ts'
import { RunGuard, TIMEOUT_DEFAULTS, type Timeouts } from '../guards/guard.ts'
import { beginLoop, createTurn } from '../loop/converse.ts'
import { planLoop, type LoopPlan } from '../loop/loop-plan.ts'
import type { ModelLoop } from '../loop/model-loop.ts'
import { planMiddleware, type PlannedMiddleware } from '../middleware/middleware.ts'
import { RunHooks } from '../middleware/run-hooks.ts'
import { createToolSet, type ToolSet } from '../tools/tool-set.ts'
import {
  TeamOptionsSchema,
  type MemberAnswer,
  type Merge,
  type TeamMode,
  type TeamOptions
} from './team-options.ts'

/** How a member is called; the key distinguishes its calls, and is its name by default. */
type MemberCall = Pick<ChildCall, 'key' | 'unsourced' | 'answersCaller' | 'delivery'>

const failureKey = (key: string) => `#failure ${key}`

/** One run of a team. */
export class TeamRun {
  readonly plan: TeamPlan
  readonly context: RunContext
  readonly guard: RunGuard
  readonly events: RunEvents
  readonly hooks: RunHooks | undefined
  /** The conversation that the caller keeps, if it differs from that of the context. */
  messages: readonly SessionMessage[] | undefined
  /** The parts of the members. */
  readonly channel = new PartChannel()
  constructor(plan: TeamPlan, context: RunContext) {
    this.plan = plan
    this.context = context
    this.guard = new RunGuard(context, plan.timeout)
    this.events = new RunEvents(context, plan.name, 'team')
    if (plan.use.length > 0 || context.use !== undefined) this.hooks = new RunHooks(this, plan.use)
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
      const { use } = this.plan
      const call = { runnable, input, context, signal, name, key, unsourced, answersCaller, delivery, use }
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
    begin: () =>
      beginLoop(plan, run, turn, { input, messages: run.messages, section: () => task, tools: () => tools }),
    guard: run.guard,
    close: () => turn.end()
  }
}

/** The plan that all runs of a team share. */
export interface TeamPlan {
  readonly name: string
  readonly mode: TeamMode
  readonly members: readonly Runnable[]
  readonly leader: LoopPlan | undefined
  /** Where its conversations are, unless in the stores of the run. */
  readonly sessions: SessionStore | undefined
  /** True if its session keeps what it is asked: a message. */
  readonly keepsTurns: boolean
  readonly merge: Merge | undefined
  readonly delegates: boolean
  readonly use: readonly PlannedMiddleware[]
  readonly timeout: Timeouts
  /** True if its runs may be resumed by another process. */
  readonly durable: boolean
}

/** Checks the options of a team and plans its runs. @throws RUN_ERR_BAD_TEAM, RUN_ERR_BAD_MODEL, RUN_ERR_BAD_MIDDLEWARE, REG_ERR_BAD_…, which name the team */
export function planTeam(options: TeamOptions): TeamPlan {
  return prefixErrors(nameOf('team', options), () => toPlan(options))
}

function toPlan(options: TeamOptions): TeamPlan {
  requireOptions(TeamOptionsSchema, options, RUN_ERR_BAD_TEAM)
  const { merge, model } = options
  const mode: TeamMode = options.mode
  requireThat(
    merge === undefined || mode === 'parallel',
    `merge: only a parallel team merges, this one has the mode ${mode}`
  )
  requireThat(model === undefined || merge === undefined, 'merge: the `model` merges already')
  requireThat(model === undefined || mode !== 'sequence', 'model: a team in sequence has no leader')
  if (mode === 'parallel')
    requireThat(model !== undefined || merge !== undefined, 'merge: required, unless a `model` merges')
  if (mode === 'coordinate' || mode === 'route')
    requireThat(model !== undefined, `model: required, the mode ${mode} needs a leader`)
  requireThat(
    options.provider === undefined || model !== undefined,
    'provider: only a model function gets the key of a provider'
  )
  const members = toMembers(options.members)
  const { inputSchema = MessageInputSchema } = members[0]!
  return {
    name: requireName(options.name),
    mode,
    members,
    sessions: options.sessions,
    keepsTurns: mode !== 'sequence' || inputSchema === MessageInputSchema,
    leader: model === undefined ? undefined : planLoop({ ...options, model }, {}, badTeam),
    merge,
    delegates: options.delegates ?? true,
    use: planMiddleware(options.use),
    durable: options.durable ?? true,
    timeout: { ...TIMEOUT_DEFAULTS, ...options.timeout }
  }
}

function toMembers(given: TeamOptions['members']): Runnable[] {
  const members = given.map((member, index) => prefixErrors(`members/${index}`, () => defineRunnable(member)))
  const names = new Set<string>()
  for (const [index, { name }] of members.entries()) {
    requireThat(!names.has(name), `members/${index}: duplicate member "${name}"`)
    names.add(name)
  }
  return members
}

const badTeam = (fault: string) => new RUN_ERR_BAD_TEAM(fault)

function requireThat(condition: boolean, fault: string): asserts condition {
  if (!condition) throw badTeam(fault)
}
