import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { defineRunnable, type Runnable, type SessionStore } from '@svc/registry'
import { requireName, requireOptions } from '@svc/registry/kit'
import type { Instructions } from '../agents/agent-plan.ts'
import type { Timeouts } from '../guards/run-guard.ts'
import { RUN_ERR_BAD_TEAM } from '../errors.ts'
import type { UrlOptions } from '../files/allowed-url.ts'
import { resolveModel, type ResolveModel } from '../models/model.ts'
import type { Retry } from '../models/retry-model.ts'
import { AGENT_DEFAULTS } from '../options.ts'
import type { HistoryLimits } from '../sessions/history.ts'
import { nameOf, prefixErrors } from '../checks/option-errors.ts'
import { TeamOptionsSchema, type Merge, type TeamMode, type TeamOptions } from './team-options.ts'

/** What the leader of a team needs in every run. */
export interface LeaderPlan {
  readonly instructions: Instructions | undefined
  readonly resolveModel: ResolveModel
  readonly settings: Partial<LanguageModelV4CallOptions>
  readonly sessions: SessionStore | undefined
  readonly history: HistoryLimits
  readonly urls: UrlOptions
  readonly retry: Retry
  readonly maxSteps: number
}

/** What the runs of a team have in common, made once from its options. */
export interface TeamPlan {
  readonly name: string
  readonly mode: TeamMode
  readonly members: readonly Runnable[]
  readonly leader: LeaderPlan | undefined
  readonly merge: Merge | undefined
  readonly delegates: boolean
  readonly timeout: Timeouts
}

/** Checks the options of a team. @throws RUN_ERR_BAD_TEAM, RUN_ERR_BAD_MODEL, REG_ERR_BAD_…, which name the team */
export function planTeam(options: TeamOptions): TeamPlan {
  return prefixErrors(nameOf('team', options), () => toPlan(options))
}

function toPlan(options: TeamOptions): TeamPlan {
  requireOptions(TeamOptionsSchema, options, RUN_ERR_BAD_TEAM)
  const { mode, merge, model } = options
  requireThat(merge === undefined || mode === 'parallel', `merge: a team that is in ${mode} merges nothing`)
  requireThat(model === undefined || merge === undefined, 'merge: there is a model to merge already')
  requireThat(model === undefined || mode !== 'sequence', 'model: a team that is in sequence has no leader')
  if (mode === 'parallel')
    requireThat(model !== undefined || merge !== undefined, 'merge: needs a function, or a `model` to merge')
  if (mode === 'coordinate' || mode === 'route')
    requireThat(model !== undefined, `model: to ${mode} needs a leader`)
  requireThat(
    options.provider === undefined || typeof model === 'function',
    'provider: only a model function gets the key of a provider'
  )
  return {
    name: requireName(options.name),
    mode,
    members: toMembers(options.members),
    leader: model === undefined ? undefined : planLeader({ ...options, model }),
    merge,
    delegates: options.delegates ?? true,
    timeout: { ...AGENT_DEFAULTS.timeout, ...options.timeout }
  }
}

function toMembers(given: TeamOptions['members']): Runnable[] {
  const members = given.map((member, index) => prefixErrors(`members.${index}`, () => defineRunnable(member)))
  const names = new Set<string>()
  for (const [index, { name }] of members.entries()) {
    requireThat(!names.has(name), `members.${index}: there are two members "${name}"`)
    names.add(name)
  }
  return members
}

function planLeader(options: TeamOptions & { model: NonNullable<TeamOptions['model']> }): LeaderPlan {
  return {
    instructions: options.instructions,
    resolveModel: resolveModel(options.model, options.provider),
    settings: options.settings ?? {},
    sessions: options.sessions,
    history: { ...AGENT_DEFAULTS.history, ...options.history },
    urls: { ...AGENT_DEFAULTS.urls, ...options.urls },
    retry: { ...AGENT_DEFAULTS.retry, ...options.retry },
    maxSteps: options.maxSteps ?? AGENT_DEFAULTS.maxSteps
  }
}

function requireThat(condition: boolean, fault: string): asserts condition {
  if (!condition) throw new RUN_ERR_BAD_TEAM(fault)
}
