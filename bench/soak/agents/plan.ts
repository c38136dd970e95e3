import { hash } from 'node:crypto'

/** The tools of the soak's agents; those of `CLIENT_TOOLS` are served by the client. */
export const TOOLS = ['read', 'book', 'fail', 'nest', 'send', 'send_once', 'ask', 'ask_once'] as const
export const CLIENT_TOOLS = ['pick'] as const
export type ToolName = (typeof TOOLS)[number] | (typeof CLIENT_TOOLS)[number]

/** One call of a tool, or of a member that is given a plan of its own. */
export type Action = { tool: ToolName } | { member: string; plan: Plan }

/** What an agent is to do. It stands in the prompt, and the model is a function of the prompt alone. */
export interface Plan {
  /** Unique among all plans; prefixes the ids of its tool calls. */
  id: string
  /** The actions of each model step, which run in parallel. */
  steps: Action[][]
  /** What was found out before: the digest of the previous member of a sequence. */
  carry?: string
  /** The plans of the members that follow in a sequence. */
  next?: Plan[]
  /** The plans of members that all get the same input, by their names. */
  of?: Record<string, Plan>
  /** The member to route to. */
  route?: string
  /** The first answer does not fit the output schema. */
  wrong?: boolean
}

/** How a call is answered: an approval for `send`, an input for the others that wait. */
export interface Answer {
  accept: boolean
  choice: number
}

/** The id of a call, which is also the key of its effect. */
export function callIdOf(plan: Plan, step: number, index: number): string {
  return `${plan.id}.${step}.${index}`
}

/** A number that stands for a text. */
export function numberOf(text: string): number {
  return Number.parseInt(hash('sha256', text, 'hex').slice(0, 7), 16)
}

/** The answer to a call that asks: always the same for the same call. */
export function answerTo(callId: string): Answer {
  const number = numberOf(`answer ${callId}`)
  return { accept: number % 5 !== 0, choice: number % 1000 }
}

/** What comes of a call that nothing interrupts, as the model is shown it. */
export function outcomeOf(tool: ToolName, callId: string): string {
  const { accept, choice } = answerTo(callId)
  const value = numberOf(callId)
  switch (tool) {
    case 'fail':
      return `no ${value}`
    case 'nest':
      return `${outcomeOf('read', `${callId}.1`)} ${outcomeOf('book', `${callId}.2`)}`
    case 'send':
    case 'send_once':
      return accept ? `sent ${value} by ${choice}` : 'denied'
    case 'ask':
    case 'ask_once':
      return accept ? `asked ${value}: ${choice}` : `asked ${value}: declined`
    case 'pick':
      return accept ? `picked ${choice}` : 'denied'
    default:
      return `${tool} ${value}`
  }
}
