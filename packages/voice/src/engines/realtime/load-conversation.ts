import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { RunContext } from '@svc/contract'
import { createTurn, RunEvents, RunGuard, type AgentPlan } from '@svc/runtime/loop'

/** The conversation of the session so far, as a prompt without instructions. @throws RUN_ERR_STORE, the signal's reason */
export async function loadConversation(
  plan: AgentPlan,
  context: RunContext,
  model: LanguageModelV4
): Promise<LanguageModelV4Prompt> {
  const { name } = plan
  const guard = new RunGuard(context, plan.timeout)
  const events = new RunEvents(context, name, 'agent')
  const turn = createTurn(plan, { kind: 'agent', name, context, guard, events })
  try {
    await turn.lock()
    await turn.begin({
      message: undefined,
      kept: context.messages,
      system: '',
      isNew: context.newSession,
      limits: plan.history,
      model
    })
    return turn.prompt
  } finally {
    guard.close()
    turn.end()
  }
}
