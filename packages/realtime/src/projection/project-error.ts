import type { VoiceOutput } from '@svc/contract'
import type { Conversation } from '../conversation/conversation.ts'
import type { ProtocolCode } from '../events/protocol-error.ts'
import type { Emit } from '../events/server-events.ts'

/** The errors of calls that the protocol has a code for. */
const PROTOCOL_CODE_OF: Readonly<Record<string, ProtocolCode>> = {
  VOICE_ERR_COMMIT_TOO_SHORT: 'input_audio_buffer_commit_empty',
  VOICE_ERR_NO_RESPONSE: 'response_cancel_not_active',
  VOICE_ERR_UNKNOWN_ITEM: 'item_truncate_invalid_item_id',
  VOICE_ERR_BAD_POSITION: 'invalid_value',
  VOICE_ERR_ITEM_EXISTS: 'invalid_value'
}

/** `error`: the call takes no notice of an event, or something failed. A refused `response.create` is named by its id. */
export function reportError(
  conversation: Conversation,
  { code, message }: Extract<VoiceOutput, { type: 'error' }>,
  emit: Emit
): void {
  const known = PROTOCOL_CODE_OF[code]
  const isNothing = code === 'VOICE_ERR_NOTHING_TO_ANSWER'
  const type = known === undefined && !isNothing ? 'server_error' : 'invalid_request_error'
  const eventId = isNothing ? conversation.createdBy : null
  if (isNothing) conversation.createdBy = null
  emit({ type: 'error', error: { type, code: known ?? code, message, param: null, event_id: eventId } })
}
