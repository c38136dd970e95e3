import type { TSchema } from '@sinclair/typebox'
import {
  defined,
  type AcceptedMessage,
  type RunContext,
  type RunInput,
  type Runnable,
  type RunnableMetadata,
  type WhenBusy,
  type YieldedPart
} from '@svc/contract'
import { requireInput } from '@svc/registry/engine'
import {
  BaseRunnable,
  type DeclaredOutput,
  type OutputSchema,
  type StructuredOf
} from '../runnables/base-runnable.ts'
import { compactSession, coordinate, parallel, route, sequence } from './modes.ts'
import { toToolNames } from '../tools/tool-set.ts'
import { planTeam, TeamRun, toMessageText, type TeamPlan } from './team-run.ts'
import type { Member, TeamMode, TeamOptions } from './team-options.ts'
import { createTurn } from '../loop/converse.ts'
import { enterRun } from '../middleware/enter-run.ts'
import type { RunHooks } from '../middleware/run-hooks.ts'
import { askedIn, loadFiles, MESSAGE } from '../sessions/turn.ts'

type LastOf<Members extends readonly unknown[]> = Members extends readonly [...unknown[], infer Last]
  ? Last
  : Members[number]

/** The output a team declares: the last member's in sequence, any member's when it routes. */
export type TeamOutput<Members extends readonly unknown[], Mode extends TeamMode> = Mode extends 'sequence'
  ? DeclaredOutput<LastOf<Members>>
  : Mode extends 'route'
    ? DeclaredOutput<Members[number]>
    : unknown

/** The structured answer of a team: its output, or what `merge` returns. */
export type TeamStructured<
  Members extends readonly unknown[],
  Mode extends TeamMode,
  Merged
> = Mode extends 'sequence'
  ? StructuredOf<LastOf<Members>>
  : Mode extends 'route'
    ? StructuredOf<Members[number]>
    : Mode extends 'parallel'
      ? Merged
      : unknown

/** Runnables that work together, served under one name on every surface from the moment it is made. */
export class Team<
  const Members extends readonly Member[] = readonly Member[],
  const Mode extends TeamMode = TeamMode,
  Merged = unknown
> extends BaseRunnable<TeamOutput<Members, Mode>, TeamStructured<Members, Mode, Merged>> {
  readonly #plan: TeamPlan
  readonly #modelId: string | undefined
  /** As in `TeamOptions`. */
  readonly whenBusy: WhenBusy | undefined

  /** @throws RUN_ERR_BAD_TEAM, RUN_ERR_BAD_MODEL, RUN_ERR_BAD_MIDDLEWARE, REG_ERR_BAD_NAME, REG_ERR_BAD_RUNNABLE, REG_ERR_NAME_TAKEN */
  constructor(options: TeamOptions<Members, Mode, Merged>) {
    const plan = planTeam(options)
    super(options, plan.name)
    this.whenBusy = options.whenBusy
    const { model } = options
    this.#plan = plan
    this.#modelId = typeof model === 'object' ? model.modelId : undefined
    this.join(options)
  }

  get kind(): 'team' {
    return 'team'
  }

  get resumable(): boolean {
    return this.#plan.durable
  }

  /** Unless its conversations are in another store, or its input is no message. */
  get takesTurns(): boolean {
    return this.#plan.keepsTurns && this.#plan.sessions === undefined
  }

  /** With a leader that answers, who reads the messages that join. */
  get steerable(): boolean {
    return this.#plan.mode === 'coordinate'
  }

  /** With a leader, whose history it is. */
  get compacts(): boolean {
    return this.#plan.leader?.history.compact !== undefined
  }

  /** In sequence, the first member's. */
  override get inputSchema(): TSchema | undefined {
    return this.#plan.mode === 'sequence' ? this.#plan.members[0]!.inputSchema : undefined
  }

  /** The names under which its leader calls the members, or those of the members that answer the caller. */
  override get toolNames(): readonly string[] {
    const { mode, members } = this.#plan
    if (mode === 'coordinate') return toToolNames(members.map((member) => member.name))
    return this.#answering.flatMap((member) => member.toolNames ?? [])
  }

  override get toolsVary(): boolean {
    if (this.#plan.mode === 'coordinate') return false
    return this.#answering.some(({ toolNames, toolsVary }) => toolNames === undefined || toolsVary === true)
  }

  // Of these, the caller gets what they answer, and they get its tools.
  get #answering(): readonly Runnable[] {
    const { mode, members } = this.#plan
    return mode === 'sequence' ? members.slice(0, 1) : members
  }

  override get outputSchema(): OutputSchema<TeamOutput<Members, Mode>> | undefined {
    const { mode, members } = this.#plan
    if (mode !== 'sequence' && mode !== 'route') return undefined
    const answering = mode === 'sequence' ? members.slice(-1) : members
    const schemas = answering.map((member) => (member as Partial<BaseRunnable>).outputSchema)
    if (schemas.includes(undefined)) return undefined
    return schemas.length === 1 ? (schemas[0] as OutputSchema<never>) : { anyOf: schemas }
  }

  protected override execute(input: RunInput, context: RunContext): AsyncGenerator<YieldedPart, void> {
    return runTeam(this.#plan, input, context)
  }

  protected override details(): Partial<RunnableMetadata> {
    return { ...defined({ model: this.#modelId }), members: this.#plan.members.map(({ name }) => name) }
  }
}

async function* runTeam(
  plan: TeamPlan,
  input: RunInput,
  context: RunContext
): AsyncGenerator<YieldedPart, void> {
  const run = new TeamRun(plan, context)
  try {
    run.guard.check()
    const given = run.hooks?.checksMessages === true ? yield* enter(run, run.hooks, input) : { input }
    if (given === undefined) return
    const parts = partsOf(run, given.input)
    yield* plan.leader === undefined && plan.keepsTurns ? keepTurn(run, given.input, parts) : parts
  } finally {
    run.close()
  }
}

// Its leader and its members get what counts of the input.
async function* enter(
  run: TeamRun,
  hooks: RunHooks,
  input: RunInput
): AsyncGenerator<YieldedPart, { readonly input: RunInput } | undefined> {
  const { plan, context } = run
  const asked = askedIn(input, context)
  if (asked === undefined) return { input }
  const takes = plan.mode === 'sequence' ? { inputSchema: plan.members[0]!.inputSchema } : MESSAGE
  const accepts = (changed: RunInput) => requireInput(takes, changed)
  const turn = plan.keepsTurns ? createTurn(plan, run) : undefined
  const entered = yield* enterRun(run, hooks, { input: asked, alone: true, accepts }, turn)
  if (entered === undefined || entered.input === asked) return entered && { input }
  if (input === undefined) run.messages = context.messages?.slice(0, -1)
  return entered
}

function partsOf(run: TeamRun, input: RunInput): AsyncGenerator<YieldedPart, void> {
  const { mode, leader } = run.plan
  if (run.context.compacts === true) return compactSession(run, leader!)
  if (mode === 'coordinate') return coordinate(run, leader!, input)
  if (mode === 'route') return route(run, leader!, input)
  return mode === 'parallel' ? parallel(run, input) : sequence(run, input)
}

/**
 * The turn of a team without a leader: its session keeps what the team was asked, and its answer. A run that fails saves nothing.
 * @throws RUN_ERR_STORE
 */
async function* keepTurn(
  run: TeamRun,
  input: RunInput,
  parts: AsyncGenerator<YieldedPart, void>
): AsyncGenerator<YieldedPart, void> {
  const turn = createTurn(run.plan, run)
  const answer = { text: '', structured: null as unknown }
  try {
    await turn.lock()
    if (input !== undefined) await turn.ask(await loadFiles(input as AcceptedMessage))
    for await (const part of parts) {
      // Parts of members have a source.
      if (part.source === undefined) {
        if (part.type === 'text') answer.text += part.text
        else if (part.type === 'structured') answer.structured = part.value
        else if (part.type === 'finish') {
          turn.addText(toMessageText(answer))
          await turn.save(run.context)
        }
      }
      yield part
    }
  } finally {
    turn.end()
  }
}
