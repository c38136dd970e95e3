import { randomId, ZERO_USAGE } from '@svc/contract'
import { OpenResponse } from '../conversation/conversation.ts'
import type { ClientEvents } from '../events/client-events.ts'
import { ProtocolError } from '../events/read-event.ts'
import { requireSupported, unsupported } from '../sessions/session-state.ts'
import { answerCalls, type Caller, type Handler } from './handler.ts'

type Options = NonNullable<ClientEvents['response.create']['response']>

/**
 * `response.create`: asks for an answer. Outputs of function calls that were given are answered now, and the run continues with them; the
 * call expects to be asked for that response, too. While other calls wait for their output, the response is empty.
 * @throws ProtocolError
 */
export const createResponse: Handler<'response.create'> = (
  caller,
  { response: options = {}, event_id: id }
) => {
  const { conversation, call } = caller
  if (conversation.response !== undefined)
    throw new ProtocolError(
      'conversation_already_has_active_response',
      `Conversation already has an active response in progress: ${conversation.response.id}.`
    )
  requireOptions(options, conversation)
  conversation.metadata = options.metadata ?? null
  conversation.createdBy = id ?? null
  // While other calls wait, the run does not continue.
  if (answerCalls(caller, id ?? null) && conversation.calls.missing) return respondEmpty(caller)
  const { instructions, output_modalities: modalities } = options
  call.receive({
    type: 'respond',
    ...(instructions !== undefined && { instructions }),
    ...(modalities !== undefined && { modality: modalities[0]! })
  })
}

/** `response.cancel`: ends the response in progress. @throws ProtocolError */
export const cancelResponse: Handler<'response.cancel'> = ({ conversation, call }, { response_id: id }) => {
  const { response } = conversation
  if (response === undefined || (id !== undefined && id !== response.id))
    throw new ProtocolError('response_cancel_not_active', 'Cancellation failed: no active response found.')
  call.receive({ type: 'cancel' })
}

function requireOptions(options: Options, { session }: Caller['conversation']): void {
  requireSupported(options, 'response')
  const { conversation = 'auto', input, tools, audio } = options
  if (conversation !== 'auto')
    throw unsupported('response.conversation', 'Every response belongs to the conversation of the call')
  if (input !== undefined)
    throw unsupported('response.input', 'A response answers the conversation: create items instead')
  if (tools !== undefined)
    throw unsupported('response.tools', 'Tools belong to the session: use session.update')
  const { voice, format } = audio?.output ?? {}
  if (voice !== undefined && voice !== session.voice)
    throw unsupported('response.audio.output.voice', 'The voice belongs to the session: use session.update')
  const { type, rate } = session.outputFormat
  if (format !== undefined && (format.type !== type || (format.rate ?? rate) !== rate))
    throw unsupported('response.audio.output.format', 'The format belongs to the session: use session.update')
}

// Each `response.create` gets a response: some clients send no other event before it is done.
function respondEmpty({ conversation, emit }: Caller): void {
  const { id, session, metadata } = conversation
  const response = new OpenResponse(`resp_${randomId()}`, id, session, metadata)
  conversation.metadata = null
  emit({ type: 'response.created', response: response.toWire() })
  emit({ type: 'response.done', response: response.toWire({ status: 'completed', usage: ZERO_USAGE }) })
}
