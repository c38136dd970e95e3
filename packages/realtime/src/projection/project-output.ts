import { dropOldest, type VoiceOutput } from '@svc/contract'
import type { Conversation, EarlyTranscript } from '../conversation/conversation.ts'
import { OpenResponse } from '../conversation/open-response.ts'
import type { Item, UserMessage } from '../events/items.ts'
import type { ProtocolCode } from '../events/protocol-error.ts'
import type { Emit } from '../events/server-events.ts'
import { addText, clearAnswer, closeAnswer, openAnswer, sendAudio, truncateAnswer } from './project-answer.ts'
import { releaseSpeech, startSpeech, stopSpeech } from './project-speech.ts'

/** The errors of calls that the protocol has a code for. */
const PROTOCOL_CODE_OF: Readonly<Record<string, ProtocolCode>> = {
  VOICE_ERR_COMMIT_TOO_SHORT: 'input_audio_buffer_commit_empty',
  VOICE_ERR_NO_RESPONSE: 'response_cancel_not_active',
  VOICE_ERR_UNKNOWN_ITEM: 'item_truncate_invalid_item_id',
  VOICE_ERR_BAD_POSITION: 'invalid_value',
  VOICE_ERR_ITEM_EXISTS: 'invalid_value'
}

/** `error`: the call takes no notice of an event, or something failed. A refused `response.create` is named by its id. */
function reportError(
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

/** `tool.call`: a function call of the response; its arguments come as one increment. */
function projectToolCall(
  { response, items, calls }: Conversation,
  output: Extract<VoiceOutput, { type: 'tool.call' }>,
  emit: Emit
): void {
  if (response === undefined) return
  const { itemId, inputId, toolCallId, toolName, args } = output
  calls.add(toolCallId, inputId)
  const previous = output.previousItemId ?? null
  const json = JSON.stringify(args ?? {})
  const begun: Item = {
    ...{ id: itemId, object: 'realtime.item', type: 'function_call', status: 'in_progress' },
    ...{ call_id: toolCallId, name: toolName, arguments: '' }
  }
  const item: Item = { ...begun, status: 'completed', arguments: json }
  const index = response.add(item)
  const place = { response_id: response.id, output_index: index }
  const call = { ...place, item_id: itemId, call_id: toolCallId }
  items.add(itemId, item)
  emit({ type: 'response.output_item.added', ...place, item: begun })
  emit({ type: 'conversation.item.added', previous_item_id: previous, item: begun })
  emit({ type: 'response.function_call_arguments.delta', ...call, delta: json })
  emit({ type: 'response.function_call_arguments.done', ...call, name: toolName, arguments: json })
  emit({ type: 'conversation.item.done', previous_item_id: previous, item })
  emit({ type: 'response.output_item.done', ...place, item })
}

/** Transcripts without an item that are kept: of speech that was none they have no end. */
const MAX_EARLY = 64

type Output<T extends VoiceOutput['type']> = Extract<VoiceOutput, { type: T }>

/** `item`: a turn of the user took its place; a spoken one was committed. */
function addTurn(conversation: Conversation, output: Output<'item'>, emit: Emit): void {
  const { items, buffer, transcripts } = conversation
  const { itemId, text } = output
  const previous = output.previousItemId ?? null
  const early = transcripts.get(itemId)
  if (early?.final) transcripts.delete(itemId)
  const content: UserMessage['content'] =
    text === undefined
      ? [{ type: 'input_audio', transcript: early?.final ? early.text : null }]
      : [{ type: 'input_text', text }]
  const item = toUserMessage(itemId, content)
  items.add(itemId, item)
  if (text === undefined) {
    buffer.clear()
    if (conversation.speech?.itemId === itemId) releaseSpeech(conversation, emit)
    emit({ type: 'input_audio_buffer.committed', item_id: itemId, previous_item_id: previous })
  }
  emit({ type: 'conversation.item.added', previous_item_id: previous, item })
  emit({ type: 'conversation.item.done', previous_item_id: previous, item })
  if (early?.final) complete(conversation, itemId, early.text, emit)
}

/** `transcript`: the words of the user; those before the item took its place are completed after it. */
function transcribe(conversation: Conversation, output: Output<'transcript'>, emit: Emit): void {
  const { items, transcripts, session } = conversation
  const { itemId, text, final } = output
  const earlier = transcripts.get(itemId)?.text ?? ''
  // An increment cannot take back words.
  if (session.sendsTranscripts && text.startsWith(earlier) && text.length > earlier.length)
    emit({
      type: 'conversation.item.input_audio_transcription.delta',
      item_id: itemId,
      content_index: 0,
      delta: text.slice(earlier.length)
    })
  if (!final || !items.has(itemId)) return keep(transcripts, itemId, { text, final })
  transcripts.delete(itemId)
  items.replace(itemId, toUserMessage(itemId, [{ type: 'input_audio', transcript: text }]))
  complete(conversation, itemId, text, emit)
}

/** `transcript.failed`: no words will come. */
function failTranscript(
  { session, transcripts }: Conversation,
  { itemId, code, message }: Output<'transcript.failed'>,
  emit: Emit
): void {
  transcripts.delete(itemId)
  if (!session.sendsTranscripts) return
  emit({
    type: 'conversation.item.input_audio_transcription.failed',
    item_id: itemId,
    content_index: 0,
    error: { type: 'server_error', code, message }
  })
}

function keep(transcripts: Map<string, EarlyTranscript>, itemId: string, transcript: EarlyTranscript): void {
  transcripts.set(itemId, transcript)
  dropOldest(transcripts, MAX_EARLY)
}

function complete({ session, speech }: Conversation, itemId: string, transcript: string, emit: Emit): void {
  if (!session.sendsTranscripts) return
  const { startMs = 0, endMs = startMs } = speech?.itemId === itemId ? speech : {}
  const milliseconds = Math.max(endMs - startMs, 0)
  emit({
    type: 'conversation.item.input_audio_transcription.completed',
    item_id: itemId,
    content_index: 0,
    transcript,
    usage: { type: 'duration', seconds: milliseconds / 1_000 }
  })
}

function toUserMessage(id: string, content: UserMessage['content']): Item {
  return { id, object: 'realtime.item', type: 'message', status: 'completed', role: 'user', content }
}

/** Projects an output of a call to the events of the protocol; states, approvals and the notice of a recording have none. */
export function projectOutput(conversation: Conversation, output: VoiceOutput, emit: Emit): void {
  switch (output.type) {
    case 'audio':
      return sendAudio(conversation, output, emit)
    case 'text':
      return addText(conversation, output, emit)
    case 'speech.start':
      return startSpeech(conversation, output, emit)
    case 'speech.stop':
      return stopSpeech(conversation, output, emit)
    case 'item':
      return addTurn(conversation, output, emit)
    case 'transcript':
      return transcribe(conversation, output, emit)
    case 'transcript.failed':
      return failTranscript(conversation, output, emit)
    case 'response.start': {
      const { id, session, metadata } = conversation
      const response = new OpenResponse(output.responseId, id, session, metadata)
      conversation.response = response
      conversation.metadata = null
      conversation.createdBy = null
      return emit({ type: 'response.created', response: response.toWire() })
    }
    case 'answer.start':
      return openAnswer(conversation, output, emit)
    case 'answer.end':
      return closeAnswer(conversation, { text: output.text, status: 'completed' }, emit)
    case 'tool.call':
      return projectToolCall(conversation, output, emit)
    case 'response.end': {
      const { response } = conversation
      if (response?.id !== output.responseId) return undefined
      const status = output.status === 'completed' ? 'completed' : 'incomplete'
      closeAnswer(conversation, { text: undefined, status }, emit)
      conversation.response = undefined
      return emit({ type: 'response.done', response: response.toWire(output) })
    }
    case 'clear':
      return clearAnswer(conversation, output, emit)
    case 'truncated':
      return truncateAnswer(conversation, output, emit)
    case 'error':
      return reportError(conversation, output, emit)
    case 'state':
    case 'approval':
    case 'recording':
      return undefined
  }
}
