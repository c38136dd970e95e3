import {
  addUsage,
  textOfInput,
  ZERO_USAGE,
  type FinishReason,
  type RunContext,
  type RunInput,
  type YieldedPart
} from '@svc/registry'
import { isPromise } from '@svc/registry/kit'
import { RunEvents } from '../events/run-events.ts'
import { ModelStep } from '../models/model-step.ts'
import { RunMemory } from '../memory/run-memory.ts'
import { OutputCheck } from '../output/output-format.ts'
import { callTools } from '../tool-calls/call-tools.ts'
import type { AgentPlan } from './agent-plan.ts'
import { createTurn, prepareTurn } from './prepare-turn.ts'
import { RunGuard } from '../guards/run-guard.ts'

/**
 * One run of an agent, the only way there is: history → model → tools → model … → answer → saved turn. A run that fails
 * or is canceled saves nothing.
 */
export async function* runAgent(
  plan: AgentPlan,
  input: RunInput,
  context: RunContext
): AsyncGenerator<YieldedPart, void> {
  const guard = new RunGuard(context.signal, plan.timeout)
  const events = new RunEvents(context, plan.name, 'agent')
  const turn = createTurn(plan, context, guard)
  const memory = plan.memory && new RunMemory(plan.memory, context, events, plan.name)
  let usage = ZERO_USAGE
  try {
    guard.check()
    const resolved = plan.resolveModel(context)
    const model = isPromise(resolved) ? await guard.wait(resolved) : resolved
    await prepareTurn(turn, input, { plan, context, guard, model, memory })
    const modelCalls = { model, context, guard, events, retry: plan.retry, callIds: new Set<string>() }
    const toolCalls = {
      tools: plan.tools,
      approval: plan.approval,
      approvalTimeout: plan.approvalTimeout,
      sandbox: plan.sandbox,
      context,
      guard,
      events
    }

    let reason: FinishReason = 'max-steps'
    const output = plan.output && new OutputCheck(plan.output)
    let answered = ''
    let steps = plan.maxSteps
    for (let index = 0; index < steps; index++) {
      const options = { ...plan.callOptions, prompt: turn.prompt, abortSignal: guard.signal }
      const step = new ModelStep(modelCalls, options, index)
      for (let part; (part = await step.next()) !== undefined;) yield part
      const { answer } = step
      usage = addUsage(usage, answer.usage)
      yield { type: 'step', index, usage: answer.usage }
      if (answer.toolCalls.length === 0) {
        const toMend = output && (await output.check(answer.text))
        if (toMend !== undefined) {
          turn.askToCorrect(answer, toMend)
          // One model call more, whatever `maxSteps` is.
          steps++
          continue
        }
        if (output !== undefined) yield { type: 'structured', value: output.value }
        turn.add(answer, [])
        answered = answer.text
        reason = answer.finishReason
        break
      }
      turn.add(answer, yield* callTools(answer.toolCalls, toolCalls))
    }
    const saving = turn.save(context)
    if (isPromise(saving)) await saving
    if (answered !== '') memory?.store({ input: textOfInput(input), text: answered })
    yield { type: 'finish', finishReason: reason, usage }
  } finally {
    guard.close()
    turn.end()
  }
}
