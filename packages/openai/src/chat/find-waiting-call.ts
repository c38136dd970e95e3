import type { Principal, RunnableKind, RunSummary } from '@svc/contract'
import { mayAnswer, readPresent } from '@svc/surface'
import type { Surface } from '../surface.ts'
import type { CallOutput } from '../wire/conversation.ts'
import { findWaitingRun } from '../wire/find-waiting-run.ts'
import type { CompletionEvent } from './completion-event.ts'
import type { CompletionEvents, WaitingCall } from './completion-events.ts'
import { readCallId } from './completion-ids.ts'

/** A run that waits for outputs of a request. */
export interface WaitingRun {
  readonly runId: string
  /** True if a completion gave the client the call, so that its run is the client's own. */
  readonly isOwn: boolean
  /** The log so far. */
  readonly events: CompletionEvents
  /** The events of the completion that is under way; none if the last one is over. */
  readonly seen: readonly CompletionEvent[]
  /** The outputs, by the input that each answers. */
  readonly outputs: ReadonlyMap<string, CallOutput>
}

/** The run of the caller that waits for one of these outputs; undefined if there is none. */
export async function findWaitingCall(
  surface: Surface,
  runnable: { readonly kind: RunnableKind; readonly name: string },
  outputs: readonly CallOutput[],
  principal: Principal,
  make: () => CompletionEvents
): Promise<WaitingRun | undefined> {
  if (outputs.length === 0) return undefined
  const own = await findOwn(surface, runnable, outputs, principal)
  const callIds = outputs.map(({ callId }) => callId)
  const runId = own ?? (await findWaitingRun(surface, runnable, callIds, principal))?.runId
  if (runId === undefined) return undefined
  const events = make()
  let seen: CompletionEvent[] = []
  for await (const { part } of readPresent(surface.runs.stores, runId)) {
    for (const event of events.add(part)) {
      if (event.type === 'begin') seen = []
      seen.push(event)
    }
  }
  const given = toAnswered(events.waiting, outputs)
  if (given.size === 0) return undefined
  return { runId, isOwn: own !== undefined, events, seen: events.isOver ? [] : seen, outputs: given }
}

// By the ids that completions give.
async function findOwn(
  surface: Surface,
  { kind, name }: Pick<RunSummary, 'kind' | 'name'>,
  outputs: readonly CallOutput[],
  principal: Principal
): Promise<string | undefined> {
  for (const { callId } of outputs) {
    const inputId = readCallId(callId)
    const found = inputId === undefined ? undefined : await surface.runs.findInput(inputId)
    if (found === undefined || found.input.kind !== 'tool' || found.input.answer !== null) continue
    const { run } = found
    if (run.kind === kind && run.name === name && (await mayAnswer(surface, run, 'tool', principal)))
      return run.runId
  }
  return undefined
}

// Ids of the log are those that other wires give.
function toAnswered(
  waiting: readonly WaitingCall[],
  outputs: readonly CallOutput[]
): Map<string, CallOutput> {
  const answered = new Map<string, CallOutput>()
  for (const { inputId, toolCallId, call } of waiting) {
    const output = outputs.find(
      ({ callId }) => callId === call.id || callId === inputId || callId === toolCallId
    )
    if (output !== undefined) answered.set(inputId, output)
  }
  return answered
}
