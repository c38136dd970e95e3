import { Value } from '@sinclair/typebox/value'
import {
  AcceptedMessageSchema,
  MessageInputSchema,
  textOfInput,
  type ApprovalOutcome,
  type RunInput,
  type Runnable,
  type RunResult
} from '@svc/contract'
import { RUN_ERR_APPROVAL_DENIED } from '@svc/contract/errors'
import { askApproval } from '../approvals/approval-manager.ts'
import { runChild, withSource } from '../children/run-child.ts'
import { RUN_ERR_STEP_BAD_OUTPUT, RUN_ERR_STEP_LOOP_LIMIT, RUN_ERR_STEP_NO_BRANCH } from '../errors.ts'
import { ChildGuard } from '../guards/guard.ts'
import { isDeeperThan, MAX_DEPTH, toJson } from '../json/json.ts'
import type { BaseRunnable } from '../runnables/base-runnable.ts'
import { attempt, wasStartedBefore, within, type Place } from './attempt.ts'
import type { ApprovalWaitOptions, FlowNode, SleepOptions } from './flow.ts'

/** Runs one of several flows. Records the choice, so that a restart takes the same branch. */
export async function runBranch(
  { name, choose, flows }: Extract<FlowNode, { type: 'branch' }>,
  place: Place
): Promise<unknown> {
  const chosen = String(await place.context.step(`${name}#choice`, () => choose(place.view)))
  if (!Object.hasOwn(flows, chosen)) throw new RUN_ERR_STEP_NO_BRANCH(name, chosen.slice(0, 128))
  return place.run(flows[chosen]!, within(place, name))
}

/** Repeats a flow. Records after each round whether it is the last. */
export async function runLoop(
  { name, flow, options: { until, maxRounds = 100 } }: Extract<FlowNode, { type: 'loop' }>,
  place: Place
): Promise<unknown> {
  let { previous } = place.view
  for (let index = 0; index < maxRounds; index++) {
    const round = within(place, name, { key: `${name}#${index}`, view: { ...place.view, previous, index } })
    previous = await place.run(flow, round)
    const view = { ...place.view, previous, index }
    if (await round.context.step('#until', () => until(view))) return previous
  }
  throw new RUN_ERR_STEP_LOOP_LIMIT(name, maxRounds)
}

/** Runs `work` with at most `concurrency` in parallel; the first failure ends the rest. @throws the first error */
async function runConcurrently<T>(
  signal: AbortSignal,
  work: readonly ((signal: AbortSignal) => Promise<T>)[],
  concurrency = work.length
): Promise<T[]> {
  const guard = new ChildGuard(signal)
  const outputs: T[] = []
  let next = 0
  const worker = async () => {
    while (next < work.length) {
      const index = next++
      outputs[index] = await work[index]!(guard.signal)
    }
  }
  try {
    await guard.wait(Promise.all(Array.from({ length: Math.min(concurrency, work.length) }, worker)))
    return outputs
  } catch (err) {
    next = work.length
    guard.end(err)
    throw err
  } finally {
    guard.close()
  }
}

/** Runs a flow per item. Records the items, so that a restart sees the same. */
export async function runMap(
  { name, items, flow, options: { concurrency = 4 } }: Extract<FlowNode, { type: 'map' }>,
  place: Place
): Promise<unknown> {
  const list: unknown = await place.context.step(`${name}#items`, () => items(place.view))
  if (!Array.isArray(list)) throw new RUN_ERR_STEP_BAD_OUTPUT(name, 'its items are not a list')
  const work = list.map((previous: unknown, index) => (signal: AbortSignal) => {
    const view = { ...place.view, previous, index }
    const key = `${name}#${index}`
    return place.run(flow, within(place, name, { key, conversation: key, signal, view }))
  })
  return runConcurrently(place.signal, work, concurrency)
}

/** Runs several flows in parallel; returns their outputs by name. */
export async function runParallel(
  { name, flows }: Extract<FlowNode, { type: 'parallel' }>,
  place: Place
): Promise<unknown> {
  const named = Object.entries(flows)
  const outputs = await runConcurrently(
    place.signal,
    named.map(
      ([label, flow]) =>
        (signal: AbortSignal) =>
          place.run(flow, within(place, name, { signal, conversation: `${name}#${label}` }))
    )
  )
  return Object.fromEntries(named.map(([label], index) => [label, outputs[index]]))
}

type View = Place['view']

/** Waits for some time or for a human; both waits survive a restart. */
export function runWait(
  { name, options }: Extract<FlowNode, { type: 'wait' }>,
  place: Place
): Promise<ApprovalOutcome | undefined> {
  return 'sleep' in options ? sleepFor(name, options, place) : askFor(name, options, place)
}

async function sleepFor(
  name: string,
  { sleep: time }: SleepOptions<unknown, View['steps'], unknown>,
  { context, view, signal }: Place
): Promise<undefined> {
  const end = await context.step(`${name}#end`, async () => {
    const ms = typeof time === 'function' ? await time(view) : time
    return context.now() + (Number.isFinite(ms) ? ms : 0)
  })
  await context.sleep(end, signal)
}

// The stored approval survives a restart: it is found again by its request, even if answered in between.
async function askFor(
  name: string,
  { approval }: ApprovalWaitOptions<unknown, View['steps'], unknown>,
  { context, view, signal, events }: Place
): Promise<ApprovalOutcome> {
  const { toolName = name, timeout, denied = 'fail' } = approval
  const args: unknown = (await context.step(`${name}#args`, async () => approval.args?.(view))) ?? null
  const child = context.child(name, { signal })
  const toolCallId = child.idempotencyKey.slice(child.runId.length + 1)
  const guard = new ChildGuard(signal)
  try {
    const request = { toolCallId, toolName, args, durable: true, ...(timeout !== undefined && { timeout }) }
    const outcome = await guard.wait(askApproval(child, request, events))
    const { approved, expired, reason } = outcome
    if (approved || denied === 'continue') return outcome
    throw new RUN_ERR_APPROVAL_DENIED(
      expired ? `"${name}" was not approved in time` : `"${name}" was denied${reason ? `: ${reason}` : ''}`
    )
  } finally {
    guard.close()
  }
}

/** Runs a function as a step. Records its output, so that it is not called again after success. */
export function runFunction(
  { name, work, options }: Extract<FlowNode, { type: 'function' }>,
  place: Place
): Promise<unknown> {
  return place.context.step(`${name}#output`, () =>
    attempt(name, options, place, async ({ signal }, count) => {
      const context = place.context.child(name, { signal })
      const { idempotencyKey } = context
      const output = toOutput(
        name,
        await work({ ...place.view, signal, attempt: count, idempotencyKey, context })
      )
      if (typeof output === 'string' && output !== '')
        await place.emit(withSource(name, { type: 'text', text: output }))
      else if (output !== undefined && output !== null && output !== '')
        await place.emit(withSource(name, { type: 'structured', value: output }))
      return output
    })
  )
}

/** Copies an output as JSON data for the journal. @throws RUN_ERR_STEP_BAD_OUTPUT */
function toOutput(name: string, value: unknown): unknown {
  if (value === undefined) return undefined
  const output: unknown = JSON.parse(
    toJson(value, (fault, cause) => new RUN_ERR_STEP_BAD_OUTPUT(name, fault, { cause }))
  )
  if (isDeeperThan(output, MAX_DEPTH))
    throw new RUN_ERR_STEP_BAD_OUTPUT(name, `it is nested deeper than ${MAX_DEPTH}`)
  return output
}

type RunnableNode = Extract<FlowNode, { type: 'runnable' }>

/** Runs a runnable as a step. Emits its parts under the step's name, and records its answer. */
export function runRunnable(node: RunnableNode, place: Place): Promise<unknown> {
  const { name, runnable, options } = node
  const { context, signal: _, emit, use } = place
  // It continues by its own journal.
  const journaled = context.journal !== undefined && runnable.resumable === true
  const run = async () => {
    if (!journaled && (await wasStartedBefore(context, `${name}#begun`)))
      await emit(withSource(name, { type: 'step.start', index: 0, attempt: 2 }))
    return attempt(name, options, place, async ({ signal }, count) => {
      const input = toInput(runnable, options.input?.(place.view) ?? defaultInput(node, place))
      // A workflow repeats only its failed step, anything else begins again.
      const attempts = runnable.kind === 'workflow' ? {} : { attempt: count }
      return outputOf(
        node,
        await runChild({ runnable, input, context, signal, name, emit, use, ...attempts })
      )
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
