import { defineRunnable } from '@svc/registry'
import {
  MessageInputSchema,
  requireName,
  requireOptions,
  type Runnable,
  type SessionStore
} from '@svc/contract'
import { nameOf, prefixErrors } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_TEAM } from '../errors.ts'
import { TIMEOUT_DEFAULTS, type Timeouts } from '../guards/guard.ts'
import { planLoop, type LoopPlan } from '../loop/loop-plan.ts'
import { TeamOptionsSchema, type Merge, type TeamMode, type TeamOptions } from './team-options.ts'

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
  readonly timeout: Timeouts
  /** True if its runs may be resumed by another process. */
  readonly durable: boolean
}

/** Checks the options of a team and plans its runs. @throws RUN_ERR_BAD_TEAM, RUN_ERR_BAD_MODEL, REG_ERR_BAD_…, which name the team */
export function planTeam(options: TeamOptions): TeamPlan {
  return prefixErrors(nameOf('team', options), () => toPlan(options))
}

function toPlan(options: TeamOptions): TeamPlan {
  requireOptions(TeamOptionsSchema, options, RUN_ERR_BAD_TEAM)
  const { merge, model } = options
  const mode: TeamMode = options.mode as TeamMode
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
