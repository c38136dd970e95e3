import { RUNNABLE_KINDS, toLoggable } from '@svc/contract'
import { logFault, quoteName } from '@svc/surface'
import { GTW_ERR_UNKNOWN_EVENT } from '../errors.ts'
import { endsConnection, requirePayload, toRefusal } from '../events/check-payload.ts'
import type { JsonEvent } from '../events/client-events.ts'
import type { Connection } from '../sockets/connection.ts'
import type { Surface } from '../surface.ts'
import { readFile } from './files.ts'
import type { Handler } from './handler.ts'
import { createRunHandler } from './run.ts'
import { answerApproval, answerInput, cancelRun, watchRun } from './runs.ts'
import { compactSession, listSessions, unwatchSession, watchSession } from './sessions.ts'
import {
  cancelAnswer,
  clearTurn,
  commitTurn,
  configureCall,
  respond,
  resumeCall,
  startCall,
  stopCall,
  takeAudio,
  takePlayed,
  takeText,
  truncateAnswer
} from './voice.ts'

/** The handlers by event. */
const HANDLERS: ReadonlyMap<string, Handler<never>> = new Map<JsonEvent, Handler<never>>([
  ['agent.run', createRunHandler('agent')],
  ['team.run', createRunHandler('team')],
  ['workflow.run', createRunHandler('workflow')],
  ['run.cancel', cancelRun],
  ['run.watch', watchRun],
  ['run.file', readFile],
  ['session.list', listSessions],
  ['session.compact', compactSession],
  ['session.watch', watchSession],
  ['session.unwatch', unwatchSession],
  ['approval.answer', answerApproval],
  ['input.answer', answerInput],
  ['voice.start', startCall],
  ['voice.resume', resumeCall],
  ['voice.commit', commitTurn],
  ['voice.clear', clearTurn],
  ['voice.text', takeText],
  ['voice.respond', respond],
  ['voice.cancel', cancelAnswer],
  ['voice.truncate', truncateAnswer],
  ['voice.played', takePlayed],
  ['voice.configure', configureCall],
  ['voice.stop', stopCall]
])

type Ack = (answer: object) => void

/** Serves the events of a socket. Never throws, since a throwing listener ends the process. */
export function serveSocket(surface: Surface, connection: Connection): void {
  connection.socket.onAny((event: unknown, ...values: unknown[]) => {
    if (event === 'voice.audio') return receiveAudio(surface, connection, values)
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
  const ack = takeAck(values)
  try {
    connection.admit()
    const handler = HANDLERS.get(event as string)
    if (handler === undefined) return requireAppEvent(connection, event)
    const payload = requirePayload(event as JsonEvent, values, surface.jsonDepth)
    const answer = await handler(surface, connection, payload as never)
    ack?.(answer.ack)
    answer.after?.()
  } catch (err) {
    refuse(surface, connection, { event, err, ack })
  }
}

// Fifty a second of each call, so nothing is awaited.
function receiveAudio(surface: Surface, connection: Connection, values: unknown[]): void {
  if (connection.closed) return
  const ack = takeAck(values)
  try {
    connection.admit()
    takeAudio(connection, values)
    ack?.({ ok: true })
  } catch (err) {
    const { error, code } = toRefusal(err)
    if (connection.slot.isNews(code)) refuse(surface, connection, { event: 'voice.audio', err, ack })
    else ack?.({ error, code })
  }
}

function takeAck(values: unknown[]): Ack | undefined {
  return typeof values.at(-1) === 'function' ? (values.pop() as Ack) : undefined
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
  const { statusCode, ...refusal } = toRefusal(err)
  const { error, code } = refusal
  // Unknown names are client data and stay out of the log.
  const known = event === 'voice.audio' || HANDLERS.has(event as string)
  logFault(log, 'event', { code, statusCode, ...(known && { event }) }, err, connection.socket.handshake)
  ack?.(refusal)
  const kind = RUNNABLE_KINDS.find((each) => event === `${each}.run`)
  if (kind !== undefined) connection.refuse(`${kind}.error`, { error, code })
  else if (endsConnection({ code })) connection.refuse('gateway.error', { error, code })
  else if (ack === undefined)
    connection.refuse(isOfCall(event) ? 'voice.error' : 'gateway.error', { error, code })
}

function isOfCall(event: unknown): boolean {
  return typeof event === 'string' && event.startsWith('voice.')
}
