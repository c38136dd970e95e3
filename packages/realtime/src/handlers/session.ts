import { ProtocolError } from '../events/read-event.ts'
import type { Handler } from './handler.ts'

/** `input_audio_buffer.append`: audio of the microphone. @throws ProtocolError, VOICE_ERR_TOO_FAST, VOICE_ERR_INPUT_FULL */
export const appendAudio: Handler<'input_audio_buffer.append'> = ({ conversation, call }, { audio }) => {
  const { buffer, session } = conversation
  for (const frame of buffer.append(audio, session.inputFormat)) call.receive({ type: 'audio', audio: frame })
}

/** `input_audio_buffer.commit`: ends a turn. @throws ProtocolError */
export const commitAudio: Handler<'input_audio_buffer.commit'> = ({ conversation: { buffer }, call }) => {
  buffer.requireTurn()
  call.receive({ type: 'commit' })
  buffer.clear()
}

/** `input_audio_buffer.clear`: discards what belongs to no turn yet. */
export const clearAudio: Handler<'input_audio_buffer.clear'> = ({ conversation, call, emit }) => {
  call.receive({ type: 'clear' })
  conversation.buffer.clear()
  emit({ type: 'input_audio_buffer.cleared' })
}

/** `output_audio_buffer.clear`: a WebSocket has no such buffer. @throws ProtocolError */
export const refuseOutputClear: Handler<'output_audio_buffer.clear'> = () => {
  throw new ProtocolError(
    'unsupported_value',
    'output_audio_buffer.clear is for WebRTC and SIP: stop your playback and send conversation.item.truncate.',
    'type'
  )
}

/**
 * `session.update` in a call. On an error nothing changes.
 * @throws ProtocolError, RUN_ERR_TOOL_NAME_TAKEN, RUN_ERR_BAD_INPUT, RUN_ERR_CLIENT_INSTRUCTIONS, RUN_ERR_CLIENT_TOOLS
 */
export const updateSession: Handler<'session.update'> = (
  { conversation: { session }, call, emit },
  event
) => {
  const undo = session.update(event.session)
  try {
    call.receive({ type: 'configure', settings: session.toSettings() })
  } catch (err) {
    undo()
    throw err
  }
  emit({ type: 'session.updated', session: session.toWire() })
}
