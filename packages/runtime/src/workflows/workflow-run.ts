import { RUN_ERR_CANCELED, type RunContext, type RunInput, type YieldedPart } from '@svc/registry'
import { ChildGuard } from '../children/child-guard.ts'
import { awaiting, interleave, PartChannel } from '../children/part-channel.ts'
import { RunEvents } from '../events/run-events.ts'
import type { WorkflowPlan } from './plan-workflow.ts'
import { runFlow } from './run-flow.ts'

/** One run of a workflow: its steps' parts while they go on, then the output of the last one as its answer. */
export async function* runWorkflow(
  plan: WorkflowPlan,
  check: () => void,
  input: RunInput,
  context: RunContext
): AsyncGenerator<YieldedPart, void> {
  const guard = new ChildGuard(context.signal)
  const channel = new PartChannel()
  try {
    guard.signal.throwIfAborted()
    check()
    const start = {
      context,
      signal: guard.signal,
      emit: channel.put,
      run: runFlow,
      events: new RunEvents(context, plan.name, 'workflow'),
      view: { input, steps: {}, previous: input, index: 0 }
    }
    const work = () => guard.wait(runFlow(plan.flow, start))
    yield* tellOutput(yield* interleave(awaiting(work), channel))
    yield { type: 'finish', finishReason: 'stop' }
  } finally {
    // It is over, or its stream was left: so are its steps.
    guard.end(new RUN_ERR_CANCELED())
    guard.close()
    channel.close(new RUN_ERR_CANCELED())
  }
}

/** What an output is told as: a text, or a value with its JSON as the text. */
function* tellOutput(output: unknown): Generator<YieldedPart> {
  if (output === undefined || output === null || output === '') return
  yield { type: 'text', text: typeof output === 'string' ? output : JSON.stringify(output) }
  if (typeof output !== 'string') yield { type: 'structured', value: output }
}
