import { RUNNABLE_KINDS } from '@svc/registry'
import { logFault, quoteName, toLoggable } from '@svc/registry/kit'
import { GTW_ERR_UNKNOWN_EVENT } from '../errors.ts'
import { requirePayload } from '../events/check-payload.ts'
import type { ClientEvent } from '../events/client-events.ts'
import { endsConnection, toRefusal } from '../events/refusals.ts'
import type { Connection } from '../sockets/connection.ts'
import type { Surface } from '../surface.ts'
import { readFile } from './files.ts'
import type { Handler } from './handler.ts'
import { createRunHandler } from './run.ts'
import { answerApproval, answerInput, cancelRun, watchRun } from './runs.ts'

/** The handlers by event. */
const HANDLERS: ReadonlyMap<string, Handler<never>> = new Map<ClientEvent, Handler<never>>([
  ['agent.run', createRunHandler('agent')],
  ['team.run', createRunHandler('team')],
  ['workflow.run', createRunHandler('workflow')],
  ['run.cancel', cancelRun],
  ['run.watch', watchRun],
  ['run.file', readFile],
  ['approval.answer', answerApproval],
  ['input.answer', answerInput]
])

type Ack = (answer: object) => void

/** Serves the events of a socket. Never throws, since a throwing listener ends the process. */
export function serveSocket(surface: Surface, connection: Connection): void {
  connection.socket.onAny((event: unknown, ...values: unknown[]) => {
    receive(surface, connection, event, values).catch((err: unknown) => {
      surface.log.error({ err: toLoggable(err) }, 'an event could not be answered')
    })
  })
}

async function receive(
  surface: Surface,
  connection: Connection,
  event: unknown,
  values: unknown[]
): Promise<void> {
  if (connection.closed) return
  const ack = typeof values.at(-1) === 'function' ? (values.pop() as Ack) : undefined
  try {
    connection.admit()
    const handler = HANDLERS.get(event as string)
    if (handler === undefined) return requireAppEvent(connection, event)
    const payload = requirePayload(event as ClientEvent, values, surface.settings.limits.jsonDepth)
    const answer = await handler(surface, connection, payload as never)
    ack?.(answer.ack)
    answer.after?.()
  } catch (err) {
    refuse(surface, connection, { event, err, ack })
  }
}

// The app may have its own listeners on the namespace. For `error` Socket.IO adds one.
function requireAppEvent({ socket }: Connection, event: unknown): void {
  if (event === 'error' || socket.listenerCount(event as never) === 0)
    throw new GTW_ERR_UNKNOWN_EVENT(quoteName(event))
}

function refuse(
  { log }: Surface,
  connection: Connection,
  { event, err, ack }: { event: unknown; err: unknown; ack: Ack | undefined }
): void {
  const { error, code, statusCode } = toRefusal(err)
  // Unknown names are client data and stay out of the log.
  const known = HANDLERS.has(event as string)
  logFault(log, 'event', { code, statusCode, ...(known && { event }) }, err)
  ack?.({ error, code })
  const kind = RUNNABLE_KINDS.find((each) => event === `${each}.run`)
  if (kind !== undefined) connection.refuse(`${kind}.error`, { error, code })
  else if (ack === undefined || endsConnection({ code })) connection.refuse('gateway.error', { error, code })
}
