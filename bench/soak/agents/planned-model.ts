import { hash } from 'node:crypto'
import { scriptedModel, type ScriptedModel, type ScriptedTurn } from '@svc/runtime/testing'
import type { Ledger } from './ledger.ts'
import { callIdOf, numberOf, type Action, type Plan } from './plan.ts'
import { readPrompt, type ModelCall, type Prompt } from './read-prompt.ts'

/** What a model does next; `key` names the step, which is the same whenever the prompt is. */
interface Move {
  key: string
  calls?: { toolName: string; toolCallId: string; args: object }[]
  answer?: string
}

/**
 * A model that does what the plan in its prompt says, and answers with a digest of all that its tools gave. It writes down each
 * call. The tokens of a prompt are a number that stands for the key of the step.
 */
export function plannedModel(name: string, ledger: Ledger, pace: number): ScriptedModel {
  const script = ({ prompt, tools = [] }: ModelCall): ScriptedTurn => {
    const read = readPrompt(prompt)
    const move = decide(
      read,
      name,
      tools.map((tool) => tool.name)
    )
    ledger.write(
      'model',
      move.key,
      digestOf(read.system),
      digestOf(JSON.stringify(prompt.slice(read.systems))),
      ...([...read.outcomes.values()].some(isInterrupted) ? ['interrupted'] : [])
    )
    const words = (move.answer ?? `${move.key} calls`).match(/.{1,12}/gs) ?? []
    return {
      reasoning: ['Let me ', 'think. '],
      text: words,
      toolCalls: move.calls ?? [],
      usage: { promptTokens: tokensOf(move.key), completionTokens: words.length },
      ...(pace > 0 && { delay: pace })
    }
  }
  return scriptedModel(script, { modelId: `planned-${name}`, record: false })
}

/** The tokens that a step with this key reports for its prompt. */
export function tokensOf(key: string): number {
  return numberOf(`tokens ${key}`)
}

function decide(prompt: Prompt, name: string, tools: readonly string[]): Move {
  const { plan: given, outcomes, corrections, later, before } = prompt
  const recalled = digestOf(before + later)
  if (tools.includes('route')) {
    const key = `${given?.id ?? recalled}/${name} routes ${corrections}`
    return {
      key,
      calls: [
        {
          toolName: 'route',
          toolCallId: `${given?.id ?? recalled}.route`,
          args: { member: given?.route ?? 'ada' }
        }
      ]
    }
  }
  if (given === undefined) return { key: `${recalled}/${name} recalls`, answer: `Recall. ${recalled}` }
  const plan = given.of === undefined ? given : given.of[name]
  if (plan === undefined) return { key: `${given.id}/${name} merges`, answer: digestOf(later) }
  for (const [step, actions] of plan.steps.entries()) {
    if (!outcomes.has(callIdOf(plan, step, 0)))
      return {
        key: `${plan.id}/${name} step ${step}`,
        calls: actions.map((action, index) => toCall(plan, step, index, action))
      }
    const interrupted = actions.flatMap((action, index) => {
      const key = callIdOf(plan, step, index)
      return isInterrupted(outcomes.get(key)) && !outcomes.has(`${key}-settled`) ? [{ action, key }] : []
    })
    if (interrupted.length > 0)
      return {
        key: `${plan.id}/${name} settles ${interrupted.map(({ key }) => key).join(' ')}`,
        calls: interrupted.map(({ action, key }) => toSettlement(action, key))
      }
  }
  return answer(prompt, plan, name)
}

function answer({ outcomes, corrections }: Prompt, plan: Plan, name: string): Move {
  const key = `${plan.id}/${name} answers ${corrections}`
  const found = plan.steps.flatMap((actions, step) =>
    actions.map((_, index) => {
      const callId = callIdOf(plan, step, index)
      return outcomes.get(`${callId}-settled`) ?? outcomes.get(callId)
    })
  )
  const digest = digestOf(JSON.stringify([plan.id, plan.carry, found]))
  if (plan.wrong && corrections === 0) return { key, answer: `It is ${digest}, is it not?` }
  const [following, ...next] = plan.next ?? []
  const said = following === undefined ? { digest, by: name } : { ...following, carry: digest, next }
  return { key, answer: JSON.stringify(said) }
}

function toCall(plan: Plan, step: number, index: number, action: Action) {
  const toolCallId = callIdOf(plan, step, index)
  return 'tool' in action
    ? { toolName: action.tool, toolCallId, args: { key: toolCallId } }
    : { toolName: action.member, toolCallId, args: { message: JSON.stringify(action.plan) } }
}

// It may have happened: the model finds out, and does it if not.
function toSettlement(action: Action, key: string) {
  if (!('tool' in action)) throw new Error(`the member ${action.member} was interrupted`)
  return { toolName: 'settle', toolCallId: `${key}-settled`, args: { key, tool: action.tool } }
}

function isInterrupted(outcome: string | undefined): boolean {
  return outcome !== undefined && /may have happened/.test(outcome)
}

function digestOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 12)
}
