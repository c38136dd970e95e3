import { isTerminalStatus, type Runnable, type WhenBusy } from '@svc/registry'
import { ownerOfSessions } from '@svc/registry/kit'
import type { FastifyRequest } from 'fastify'
import type { WireSurface } from '@svc/registry/wire-kit'
import type { RunAgentInput } from '../wire/input.ts'
import type { Thread } from './thread.ts'

const OWN_ID = /^([A-Za-z0-9]+)-(?:call-)?\d+(?:-result)?$/

/**
 * The run whose turn a message follows: that of the answer right before it. Answers that left no turn, such as failed ones, are passed over.
 * Undefined, for the newest turn, if what is right before it is no answer of the thread, or one that is under way, and for messages that
 * join the run under way.
 */
export async function turnBefore(
  { exposed, runs, ...surface }: WireSurface,
  { kind, name, sessionId, userId }: Thread,
  runnable: Runnable,
  whenBusy: WhenBusy | undefined,
  { body, caller }: { body: RunAgentInput; caller: FastifyRequest['caller'] }
): Promise<string | undefined> {
  const { sessions } = runs.stores
  if (runnable.takesTurns !== true || sessions.hasTurn === undefined) return undefined
  if ((whenBusy ?? runnable.whenBusy) === 'steer') return undefined
  const owner = ownerOfSessions({ exposed, ...surface }, caller, userId)
  const { registry } = exposed.startOptions(runnable)
  const key = { registry, owner, kind, name, sessionId }
  for (const runId of runsOf(body)) {
    if (await sessions.hasTurn(key, runId)) return runId
    const run = await runs.find(runId)
    if (run !== undefined && !isTerminalStatus(run.status)) return undefined
  }
  return undefined
}

/** The runs that the messages of a client are of, newest first; none if the user has said something since the last answer. */
function runsOf({ messages }: RunAgentInput): Set<string> {
  const said = messages.filter(({ role }) => role === 'user' || role === 'assistant')
  if (said.at(-2)?.role !== 'assistant') return new Set()
  const answers = said.filter(({ role }) => role === 'assistant').toReversed()
  return new Set(answers.flatMap(({ id }) => OWN_ID.exec(id)?.slice(1) ?? []))
}
