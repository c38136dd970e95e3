import { Type } from '@sinclair/typebox'
import type { Registry } from '@svc/registry'
import { Agent, Team, Workflow, type TeamOptions } from '@svc/runtime'
import type { Ledger } from './ledger.ts'
import { plannedModel } from './planned-model.ts'
import { plannedTools } from './planned-tools.ts'

// They differ from call to call: a run keeps those that it began with.
const instructions = () => `It is ${Date.now()}.`

/** Adds agents, teams of every mode and a workflow to a registry, which do what the plan in their input says. */
export function addPlannedRunnables(registry: Registry, ledger: Ledger, pace: number): void {
  const tools = plannedTools(ledger, pace)
  const modelOf = (name: string) => plannedModel(name, ledger, pace)
  const agent = (name: string, more: object = {}) =>
    new Agent({ name, model: modelOf(name), instructions, tools, registry, ...more })
  const team = (name: string, mode: 'coordinate' | 'route' | 'parallel' | 'sequence', more: object = {}) =>
    new Team({
      name,
      mode,
      members: [ada, bob],
      model: modelOf(name),
      instructions,
      registry,
      ...more
    } as TeamOptions)

  agent('solo')
  agent('clerk', { output: Type.Object({ digest: Type.String(), by: Type.String() }) })
  const [ada, bob] = [agent('ada'), agent('bob')]
  const crew = team('crew', 'coordinate')
  team('switch', 'route')
  team('choir', 'parallel')
  team('chain', 'sequence', { model: undefined, instructions: undefined })
  team('relay', 'sequence', { members: [ada, crew], model: undefined, instructions: undefined })
  team('merged', 'parallel', {
    model: undefined,
    instructions: undefined,
    merge: (answers: { text: string }[]) => answers.map(({ text }) => text).join(' and ')
  })
  new Workflow({
    name: 'flow',
    registry,
    steps: (flow) => flow.step('first', ada).step('second', bob, { input: ({ previous }) => previous })
  })
}
