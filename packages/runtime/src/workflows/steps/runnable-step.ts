import { Value } from '@sinclair/typebox/value'
import { textOfInput, type RunInput, type Runnable, type RunResult } from '@svc/registry'
import { AcceptedMessageSchema, MessageInputSchema } from '@svc/registry/kit'
import { runChild } from '../../children/run-child.ts'
import { RUN_ERR_STEP_BAD_OUTPUT } from '../../errors.ts'
import type { FlowNode } from '../flow-node.ts'
import { withSource } from '../../children/child-parts.ts'
import type { BaseRunnable } from '../../runnables/base-runnable.ts'
import { isAgain } from '../is-again.ts'
import type { Place } from '../place.ts'
import { attempt } from './attempt.ts'
import { toOutput } from './function-step.ts'

type RunnableNode = Extract<FlowNode, { type: 'runnable' }>

/** A step that is a runnable: its parts are told with the step's name, its answer is recorded. */
export function runRunnable(node: RunnableNode, place: Place): Promise<unknown> {
  const { name, runnable, options } = node
  const { context, signal: _, emit } = place
  return context.step(`${name}#output`, async () => {
    if (await isAgain(context, `${name}#begun`))
      await emit(withSource(name, { type: 'step.start', index: 0, attempt: 2 }))
    return attempt(name, options, place, async ({ signal }) => {
      const input = toInput(runnable, options.input?.(place.view) ?? given(node, place))
      return outputOf(node, await runChild({ runnable, input, context, signal, name, emit }))
    })
  })
}

function given({ options: { from } }: RunnableNode, { view }: Place): unknown {
  return from === undefined ? view.previous : view.steps[from]
}

// Who takes a message is given any other value as its JSON.
function toInput({ inputSchema = MessageInputSchema }: Runnable, value: unknown): RunInput {
  if (inputSchema !== MessageInputSchema || Value.Check(AcceptedMessageSchema, value)) return value
  return textOfInput(Array.isArray(value) ? JSON.stringify(value) : value)
}

// A valid output is recorded as JSON, so that it is the same after a restart.
async function outputOf({ name, runnable, validate }: RunnableNode, result: RunResult): Promise<unknown> {
  const { text, structured, finishReason } = result
  const { outputSchema } = runnable as Partial<BaseRunnable>
  if (validate === undefined && outputSchema === undefined) return text
  if (validate === undefined) {
    if (structured !== null) return toOutput(name, structured)
    throw new RUN_ERR_STEP_BAD_OUTPUT(name, `there is no structured answer: ${finishReason}`)
  }
  const validated = await validate(structured)
  if (validated.fault === undefined) return toOutput(name, validated.value)
  throw new RUN_ERR_STEP_BAD_OUTPUT(name, validated.fault)
}
