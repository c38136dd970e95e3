import { codeOf, randomId, ZERO_USAGE } from '@svc/contract'
import type { LiveCall } from '@svc/surface'
import { OpenResponse, type Conversation } from '../conversation/conversation.ts'
import type { ClientEvent, ClientEvents, ClientEventType } from '../events/client-events.ts'
import type { FunctionCallOutput, UserMessage } from '../events/items.ts'
import { ProtocolError, type ProtocolCode } from '../events/read-event.ts'
import type { Emit } from '../events/server-events.ts'
import { requireSupported, unsupported } from '../sessions/session-state.ts'

/** `conversation.item.create`: a message of the user in writing, or the output of a function call. @throws ProtocolError */
const createItem: Handler<'conversation.item.create'> = (caller, event) => {
  const { item, previous_item_id: previous } = event
  const { items } = caller.conversation
  if (previous !== undefined && previous !== null && previous !== items.lastId)
    throw new ProtocolError(
      'unsupported_value',
      "Items are added at the end only: omit 'previous_item_id'.",
      'previous_item_id'
    )
  if (item.id !== undefined && items.has(item.id))
    throw new ProtocolError('invalid_value', `The item '${item.id}' exists already.`, 'item.id')
  if (item.type === 'function_call_output') return addOutput(caller, item)
  if (item.type === 'message' && item.role === 'user') return addMessage(caller, item)
  const what = item.type === 'message' ? `Messages of role '${item.role}'` : `Items of type '${item.type}'`
  throw new ProtocolError(
    'unsupported_value',
    `${what} cannot be created: the agent keeps its conversation. For context use the instructions of session.update.`,
    item.type === 'message' ? 'item.role' : 'item.type'
  )
}

/** `conversation.item.retrieve`: the item as the service has it. @throws ProtocolError */
const retrieveItem: Handler<'conversation.item.retrieve'> = ({ conversation, emit }, { item_id: id }) => {
  const item = conversation.items.get(id)
  if (item === undefined) throw noItem('item_retrieve_invalid_item_id', 'retrieving', id)
  emit({ type: 'conversation.item.retrieved', item })
}

/** `conversation.item.delete`: refused, since what was said stays in the session of the agent. @throws ProtocolError */
const deleteItem: Handler<'conversation.item.delete'> = ({ conversation }, { item_id: id }) => {
  if (!conversation.items.has(id)) throw noItem('item_delete_invalid_item_id', 'deleting', id)
  throw new ProtocolError(
    'unsupported_value',
    'Items cannot be deleted: the agent keeps its conversation.',
    'item_id'
  )
}

/** `conversation.item.truncate`: the client has stopped an answer. @throws ProtocolError */
const truncateItem: Handler<'conversation.item.truncate'> = ({ call }, event) => {
  const { item_id: itemId, audio_end_ms: heardMs, content_index: index } = event
  if (index !== 0)
    throw new ProtocolError('invalid_value', 'An answer has one content part, 0.', 'content_index')
  try {
    call.receive({ type: 'truncate', itemId, heardMs })
  } catch (err) {
    if (codeOf(err) === 'VOICE_ERR_UNKNOWN_ITEM')
      throw noItem('item_truncate_invalid_item_id', 'truncating', itemId)
    if (codeOf(err) !== 'VOICE_ERR_BAD_POSITION') throw err
    throw new ProtocolError('invalid_value', `${(err as Error).message}, not ${heardMs} ms`, 'audio_end_ms')
  }
}

function noItem(code: ProtocolCode, doing: string, id: string): ProtocolError {
  const name = id.slice(0, 64)
  return new ProtocolError(code, `Error ${doing} item: the item with id '${name}' does not exist.`, 'item_id')
}

function addMessage({ call }: Caller, { id, content }: UserMessage): void {
  const texts = content.map((part, index) => {
    if (part.type === 'input_text') return part.text
    const instead =
      part.type === 'input_audio' ? 'append it to the input audio buffer' : 'images are not supported'
    throw new ProtocolError(
      'unsupported_content_type',
      `A message takes 'input_text' only: ${instead}.`,
      `item.content[${index}].type`
    )
  })
  const text = texts.join('\n')
  if (text.trim() === '') throw new ProtocolError('invalid_value', 'A message needs text.', 'item.content')
  call.receive({ type: 'text', text, itemId: id ?? `item_${randomId()}` })
}

function addOutput({ conversation: { calls, items }, emit }: Caller, given: FunctionCallOutput): void {
  const { call_id: callId, output, id = `item_${randomId()}` } = given
  calls.keep(callId, output)
  const previous = items.lastId
  const item = {
    ...({ id, object: 'realtime.item', type: 'function_call_output', status: 'completed' } as const),
    call_id: callId,
    output
  }
  items.add(id, item)
  emit({ type: 'conversation.item.added', previous_item_id: previous, item })
  emit({ type: 'conversation.item.done', previous_item_id: previous, item })
}

/** A client in a call. */
export interface Caller {
  readonly conversation: Conversation
  readonly call: Pick<LiveCall, 'answer' | 'receive'>
  readonly emit: Emit
  /** Reports an error that belongs to an event. */
  fail(err: unknown, eventId: string | null): void
}

/** Handles a client event; throws to refuse it. */
export type Handler<T extends ClientEventType> = (caller: Caller, event: ClientEvents[T]) => void

/** Answers the function calls whose outputs were given; false if there are none. */
export function answerCalls({ conversation, call, fail }: Caller, eventId: string | null): boolean {
  const outputs = conversation.calls.take()
  for (const { callId, inputId, output } of outputs) {
    const answered = call.answer(inputId, { action: 'accept', content: toContent(output) })
    answered.catch((err: unknown) => {
      // The run still waits: the client may give another output.
      if (codeOf(err) === 'RUN_ERR_BAD_INPUT') conversation.calls.add(callId, inputId)
      fail(err, eventId)
    })
  }
  return outputs.length > 0
}

// Clients send structured results as JSON; text stays text, even if it is a number.
function toContent(output: string): unknown {
  if (!/^\s*[[{]/.test(output)) return output
  try {
    return JSON.parse(output) as unknown
  } catch {
    return output
  }
}

type Options = NonNullable<ClientEvents['response.create']['response']>

/**
 * `response.create`: asks for an answer. Outputs of function calls that were given are answered now, and the run continues with them; the
 * call expects to be asked for that response, too. While other calls wait for their output, the response is empty.
 * @throws ProtocolError
 */
const createResponse: Handler<'response.create'> = (caller, { response: options = {}, event_id: id }) => {
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
const cancelResponse: Handler<'response.cancel'> = ({ conversation, call }, { response_id: id }) => {
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

/** `input_audio_buffer.append`: audio of the microphone. @throws ProtocolError, VOICE_ERR_TOO_FAST, VOICE_ERR_INPUT_FULL */
const appendAudio: Handler<'input_audio_buffer.append'> = ({ conversation, call }, { audio }) => {
  const { buffer, session } = conversation
  for (const frame of buffer.append(audio, session.inputFormat)) call.receive({ type: 'audio', audio: frame })
}

/** `input_audio_buffer.commit`: ends a turn. @throws ProtocolError */
const commitAudio: Handler<'input_audio_buffer.commit'> = ({ conversation: { buffer }, call }) => {
  buffer.requireTurn()
  call.receive({ type: 'commit' })
  buffer.clear()
}

/** `input_audio_buffer.clear`: discards what belongs to no turn yet. */
const clearAudio: Handler<'input_audio_buffer.clear'> = ({ conversation, call, emit }) => {
  call.receive({ type: 'clear' })
  conversation.buffer.clear()
  emit({ type: 'input_audio_buffer.cleared' })
}

/** `output_audio_buffer.clear`: a WebSocket has no such buffer. @throws ProtocolError */
const refuseOutputClear: Handler<'output_audio_buffer.clear'> = () => {
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
const updateSession: Handler<'session.update'> = ({ conversation: { session }, call, emit }, event) => {
  const undo = session.update(event.session)
  try {
    call.receive({ type: 'configure', settings: session.toSettings() })
  } catch (err) {
    undo()
    throw err
  }
  emit({ type: 'session.updated', session: session.toWire() })
}

/** The handlers by event. */
const HANDLERS: { readonly [T in ClientEventType]: Handler<T> } = {
  'session.update': updateSession,
  'input_audio_buffer.append': appendAudio,
  'input_audio_buffer.commit': commitAudio,
  'input_audio_buffer.clear': clearAudio,
  'output_audio_buffer.clear': refuseOutputClear,
  'conversation.item.create': createItem,
  'conversation.item.retrieve': retrieveItem,
  'conversation.item.delete': deleteItem,
  'conversation.item.truncate': truncateItem,
  'response.create': createResponse,
  'response.cancel': cancelResponse
}

/** Handles an event of a client in a call. @throws ProtocolError, and the errors of `LiveCall.receive` */
export function handleEvent(caller: Caller, event: ClientEvent): void {
  const handler = HANDLERS[event.type] as Handler<ClientEventType>
  handler(caller, event)
}
