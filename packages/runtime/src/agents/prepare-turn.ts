import type { LanguageModelV4Message } from '@ai-sdk/provider'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import {
  AcceptedMessageSchema,
  isPromise,
  RUN_ERR_BAD_INPUT,
  type AcceptedMessage,
  type RunContext,
  type RunInput
} from '@svc/registry'
import { loadFiles } from '../sessions/load-files.ts'
import { Turn } from '../sessions/turn.ts'
import type { AgentPlan } from './agent-plan.ts'
import type { RunGuard } from './run-guard.ts'

const checkMessage = TypeCompiler.Compile(AcceptedMessageSchema)

/** The turn of a run, before it begins: whose session it belongs to. */
export function createTurn(plan: AgentPlan, context: RunContext, guard: RunGuard): Turn {
  const { sessionOwner: owner, sessionId, stores } = context
  return new Turn(
    plan.sessions ?? stores.sessions,
    { owner, kind: 'agent', name: plan.name, sessionId },
    guard
  )
}

/** Begins the turn: instructions, history and input become the first prompt. @throws RUN_ERR_BAD_INPUT, RUN_ERR_STORE */
export async function prepareTurn(
  turn: Turn,
  plan: AgentPlan,
  input: RunInput,
  context: RunContext,
  guard: RunGuard
): Promise<void> {
  requireMessage(input)
  const loading = loadFiles(input)
  const message = isPromise(loading) ? await guard.wait(loading) : loading
  const instructions = instruct(plan, context, guard)
  const system = toSystemMessage(isPromise(instructions) ? await instructions : instructions)
  await turn.begin(message, plan.history, system, context.newSession)
}

function instruct({ instructions }: AgentPlan, context: RunContext, guard: RunGuard) {
  if (typeof instructions !== 'function') return instructions
  const text = instructions(context)
  return isPromise(text) ? guard.wait(text) : text
}

function toSystemMessage(content: string | undefined): LanguageModelV4Message | undefined {
  return content ? { role: 'system', content } : undefined
}

function requireMessage(input: RunInput): asserts input is AcceptedMessage {
  if (checkMessage.Check(input)) return
  throw new RUN_ERR_BAD_INPUT('an agent takes a text that is not empty, or a list of content parts')
}
