import type { Random } from '../random.ts'
import { CLIENT_TOOLS, TOOLS, type Action, type Plan, type ToolName } from './plan.ts'

/** A run to start: a runnable, and the plan that is its input. */
export interface Job {
  id: string
  kind: 'agent' | 'team' | 'workflow'
  name: string
  plan: Plan
}

const MEMBERS = ['ada', 'bob'] as const
/** What can be run, as often as it stands here. */
const NAMES = {
  agent: ['solo', 'solo', 'solo', 'clerk'],
  team: ['crew', 'switch', 'choir', 'merged', 'chain', 'relay'],
  workflow: ['flow']
} as const

/** A random job; `id` makes its plans unique. */
export function randomJob(random: Random, id: string): Job {
  const kind = random.pick(['agent', 'agent', 'agent', 'team', 'team', 'workflow'] as const)
  const name = random.pick<string>(NAMES[kind])
  return { id, kind, name, plan: planFor(name, id, random) }
}

function planFor(name: string, id: string, random: Random): Plan {
  switch (name) {
    case 'solo':
      return randomPlan(id, random, [...TOOLS, ...CLIENT_TOOLS])
    case 'clerk':
      return { ...randomPlan(id, random), wrong: random.chance(0.5) }
    case 'crew':
      return leading(id, random)
    case 'switch':
      return { ...randomPlan(id, random), route: random.pick(MEMBERS) }
    case 'choir':
    case 'merged':
      return { id, steps: [], of: Object.fromEntries(MEMBERS.map((of) => [of, member(id, of, random)])) }
    case 'relay':
      return { ...member(id, 'ada', random), next: [leading(`${id}-crew`, random)] }
    default:
      return { ...member(id, 'ada', random), next: [member(id, 'bob', random)] }
  }
}

function member(id: string, name: string, random: Random): Plan {
  return randomPlan(`${id}-${name}`, random)
}

// The plan of a leader: its tools are its members.
function leading(id: string, random: Random): Plan {
  const steps = Array.from({ length: 1 + random.below(2) }, (_, step) => {
    const asked = MEMBERS.filter(() => random.chance(0.7))
    return asked.map((name) => ({ member: name, plan: member(`${id}s${step}`, name, random) }))
  })
  return { id, steps: steps.filter((actions) => actions.length > 0) }
}

function randomPlan(id: string, random: Random, tools: readonly ToolName[] = TOOLS): Plan {
  const steps = Array.from({ length: random.below(4) }, () =>
    Array.from({ length: 1 + random.below(3) }, (): Action => ({ tool: random.pick(tools) }))
  )
  return { id, steps }
}
