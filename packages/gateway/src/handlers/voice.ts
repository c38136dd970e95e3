import type { ClientInput } from '@svc/surface'
import { GTW_ERR_BAD_PAYLOAD } from '../errors.ts'
import type {
  VoiceCommitEvent,
  VoiceConfigureEvent,
  VoicePlainEvent,
  VoicePlayedEvent,
  VoiceRespondEvent,
  VoiceResumeEvent,
  VoiceStartEvent,
  VoiceTextEvent,
  VoiceTruncateEvent
} from '../events/voice-events.ts'
import type { Connection } from '../sockets/connection.ts'
import type { Handler } from './handler.ts'

/**
 * `voice.start`: calls a voice agent, and follows the run of the call.
 * @throws GTW_ERR_CALL_IN_PROGRESS, GTW_ERR_MISSING_SCOPE, GTW_ERR_FORBIDDEN, GTW_ERR_UNKNOWN_RUNNABLE, GTW_ERR_FOREIGN_USER,
 * GTW_ERR_TOO_MANY_RUNS, VOICE_ERR_NOT_A_VOICE, VOICE_ERR_BAD_FORMAT, RUN_ERR_CLIENT_INSTRUCTIONS, RUN_ERR_CLIENT_TOOLS, and the errors
 * of `RunEngine.start`
 */
export const startCall: Handler<VoiceStartEvent> = async ({ calls }, connection, payload) => {
  const { principal, headers, slot } = connection
  const { settings = {}, canClear = true, reportsPlayback = false, parts = false, ...asked } = payload
  const call = await slot.take(() =>
    connection.reserve(() =>
      calls.start({ ...asked, settings, canClear, reportsPlayback, principal, headers })
    )
  )
  const { runId, sessionId } = call
  return {
    ack: { runId, sessionId },
    after: () => {
      connection.connectCall(call, 0)
      connection.follow({ runId, kind: 'agent', after: 0, parts })
    }
  }
}

/**
 * `voice.resume`: continues a call over this connection. The events of its run are up to `run.watch`.
 * @throws GTW_ERR_CALL_IN_PROGRESS, RUN_ERR_NOT_FOUND, VOICE_ERR_CALL_ENDED, VOICE_ERR_BAD_AFTER, VOICE_ERR_OUTPUT_GONE,
 * GTW_ERR_MISSING_SCOPE, GTW_ERR_FORBIDDEN
 */
export const resumeCall: Handler<VoiceResumeEvent> = async ({ calls }, connection, { runId, after }) => {
  const call = await connection.slot.take(async () => {
    const found = await calls.resume(runId, connection.principal)
    if (after !== undefined) found.requireAfter(after)
    return found
  })
  return { ack: { runId, sessionId: call.sessionId }, after: () => connection.connectCall(call, after) }
}

/** `voice.stop`: hangs up; `voice.done` follows. @throws GTW_ERR_NO_CALL */
export const stopCall: Handler<VoicePlainEvent> = async (_, { slot }) => {
  slot.require().end('hangup')
  return { ack: { ok: true } }
}

/** An event that is an input of the call. @throws GTW_ERR_NO_CALL, and the errors of `LiveCall.receive` */
function handleInput<Payload>(toInput: (payload: Payload) => ClientInput): Handler<Payload> {
  return async (_, { slot }, payload) => {
    slot.require().receive(toInput(payload))
    return { ack: { ok: true } }
  }
}

export const commitTurn = handleInput<VoiceCommitEvent>((payload) => ({ type: 'commit', ...payload }))
export const clearTurn = handleInput<VoicePlainEvent>(() => ({ type: 'clear' }))
export const takeText = handleInput<VoiceTextEvent>((payload) => ({ type: 'text', ...payload }))
export const respond = handleInput<VoiceRespondEvent>((payload) => ({ type: 'respond', ...payload }))
export const cancelAnswer = handleInput<VoicePlainEvent>(() => ({ type: 'cancel' }))
export const truncateAnswer = handleInput<VoiceTruncateEvent>((payload) => ({ type: 'truncate', ...payload }))
export const takePlayed = handleInput<VoicePlayedEvent>((payload) => ({ type: 'played', ...payload }))
export const configureCall = handleInput<VoiceConfigureEvent>((payload) => ({
  type: 'configure',
  ...payload
}))

/** `voice.audio`: takes a frame of audio. @throws GTW_ERR_BAD_PAYLOAD, GTW_ERR_NO_CALL, and the errors of `LiveCall.receive` */
export function takeAudio({ slot }: Connection, values: readonly unknown[]): void {
  const call = slot.require()
  if (values.length !== 1) throw new GTW_ERR_BAD_PAYLOAD('an event has exactly one')
  call.receive({ type: 'audio', audio: values[0] as Uint8Array })
}
