import type { RunBody, Runnable, StartKey, StoredSession, WhenBusy } from '@svc/contract'
import type { Run } from '@svc/registry'
import type { FastifyRequest } from 'fastify'
import { requireAllowed, requireExposed, toStartOptions } from '../access/admit-run.ts'
import type { WireSurface } from '../open-surface.ts'

/** How a message is sent to a session. */
export interface SendOptions {
  /** What happens while another run has the turn, if runs of the runnable take turns. */
  readonly whenBusy: WhenBusy
  readonly startKey?: StartKey | undefined
  /** The runnable of the session, where it is known already that the caller may run it. */
  readonly allowed?: Runnable | undefined
}

/**
 * Sends a message to a session, whose instructions and tools are those of each of its messages: starts a run, or has the message join the one
 * under way. The run does not depend on the client.
 * @throws UnknownRunnable, Forbidden and MissingScope of the surface, and the errors of `RunEngine.start`
 */
export async function sendMessage(
  surface: WireSurface,
  { kind, name, sessionId }: Pick<StoredSession, 'kind' | 'name' | 'sessionId'>,
  body: Omit<RunBody, 'sessionId'>,
  { whenBusy, startKey, allowed }: SendOptions,
  { caller: principal, headers, log }: Pick<FastifyRequest, 'caller' | 'headers' | 'log'>
): Promise<Run> {
  if (allowed === undefined) await requireAllowed(surface, principal, 'run', { kind, name })
  const runnable = allowed ?? (await requireExposed(surface, kind, name))
  const asked = { body: { ...body, sessionId }, principal, onDisconnect: 'continue', headers, log } as const
  const options = toStartOptions(surface, runnable, asked)
  const canChoose = runnable.takesTurns === true && runnable.queue !== true
  return surface.runs.start(runnable, body.input, {
    ...options,
    ...(canChoose && { whenBusy, ofSession: true }),
    ...(startKey !== undefined && { startKey })
  })
}
