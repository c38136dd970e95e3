import { Value } from '@sinclair/typebox/value'
import {
  AcceptedMessageSchema,
  MessageInputSchema,
  textOfInput,
  type RunInput,
  type Runnable,
  type RunResult
} from '@svc/contract'
import { runChild } from '../../children/run-child.ts'
import { RUN_ERR_STEP_BAD_OUTPUT } from '../../errors.ts'
import type { FlowNode } from '../flow-node.ts'
import { withSource } from '../../children/child-parts.ts'
import type { BaseRunnable } from '../../runnables/base-runnable.ts'
import { wasStartedBefore, type Place } from '../place.ts'
import { attempt } from './attempt.ts'
import { toOutput } from './function-step.ts'

type RunnableNode = Extract<FlowNode, { type: 'runnable' }>

/** Runs a runnable as a step. Emits its parts under the step's name, and records its answer. */
export function runRunnable(node: RunnableNode, place: Place): Promise<unknown> {
  const { name, runnable, options } = node
  const { context, signal: _, emit } = place
  // It continues by its own journal.
  const journaled = context.journal !== undefined && runnable.resumable === true
  const run = async () => {
    if (!journaled && (await wasStartedBefore(context, `${name}#begun`)))
      await emit(withSource(name, { type: 'step.start', index: 0, attempt: 2 }))
    return attempt(name, options, place, async ({ signal }, count) => {
      const input = toInput(runnable, options.input?.(place.view) ?? defaultInput(node, place))
      // A workflow repeats only its failed step, anything else begins again.
      const attempts = runnable.kind === 'workflow' ? {} : { attempt: count }
      return outputOf(node, await runChild({ runnable, input, context, signal, name, emit, ...attempts }))
    })
  }
  return context.step(`${name}#output`, run, { journaled })
}

function defaultInput({ options: { from } }: RunnableNode, { view }: Place): unknown {
  return from === undefined ? view.previous : view.steps[from]
}

// A runnable that takes a message receives any other value as JSON text.
function toInput({ inputSchema = MessageInputSchema }: Runnable, value: unknown): RunInput {
  if (inputSchema !== MessageInputSchema || Value.Check(AcceptedMessageSchema, value)) return value
  return textOfInput(Array.isArray(value) ? JSON.stringify(value) : value)
}

// Records a valid output as JSON, so that it is the same after a restart.
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
