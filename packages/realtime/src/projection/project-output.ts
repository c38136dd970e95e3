import { dropOldest, type VoiceOutput } from '@svc/contract'
import {
  OpenResponse,
  toMessage,
  type Conversation,
  type EarlyTranscript,
  type OpenAnswer
} from '../conversation/conversation.ts'
import type { Item, UserMessage } from '../events/items.ts'
import type { ProtocolCode } from '../events/read-event.ts'
import type { Emit } from '../events/server-events.ts'

/**
 * `speech.start`: the user speaks. Clients discard an answer and truncate it as soon as they receive this, so that while one plays it is
 * held back until the call stops it, or the turn is over: noise that is too short to interrupt is not reported.
 */
function startSpeech(conversation: Conversation, { itemId, atMs }: Output<'speech.start'>, emit: Emit): void {
  const { playback, session } = conversation
  conversation.speech = { itemId, startMs: atMs, endMs: undefined }
  conversation.isSpeechHeld = session.interrupts && playback.isPlaying()
  if (!conversation.isSpeechHeld) emitStart(conversation, emit)
}

/** `speech.stop`: the user is silent. */
function stopSpeech(conversation: Conversation, { itemId, atMs }: Output<'speech.stop'>, emit: Emit): void {
  const { speech, isSpeechHeld } = conversation
  if (speech?.itemId !== itemId) return
  conversation.speech = { ...speech, endMs: atMs }
  if (!isSpeechHeld) emitStop(conversation, emit)
}

/** Reports speech that was held back. */
function releaseSpeech(conversation: Conversation, emit: Emit): void {
  if (!conversation.isSpeechHeld) return
  conversation.isSpeechHeld = false
  emitStart(conversation, emit)
  if (conversation.speech?.endMs !== undefined) emitStop(conversation, emit)
}

function emitStart({ speech }: Conversation, emit: Emit): void {
  const { itemId, startMs } = speech!
  emit({ type: 'input_audio_buffer.speech_started', item_id: itemId, audio_start_ms: Math.round(startMs) })
}

function emitStop({ speech }: Conversation, emit: Emit): void {
  const { itemId, endMs = 0 } = speech!
  emit({ type: 'input_audio_buffer.speech_stopped', item_id: itemId, audio_end_ms: Math.round(endMs) })
}

/** `answer.start`: adds the item of an answer to the response. */
function openAnswer(conversation: Conversation, output: Output<'answer.start'>, emit: Emit): void {
  const { response, items } = conversation
  if (response === undefined) return
  const { itemId, modality, previousItemId } = output
  const previous = previousItemId ?? null
  const item = toMessage({ itemId, modality, text: '', playedText: undefined }, 'in_progress')
  const outputIndex = response.add(item)
  const answer: OpenAnswer = {
    responseId: response.id,
    itemId,
    previousItemId: previous,
    outputIndex,
    modality,
    text: '',
    playedText: undefined,
    isDone: false
  }
  response.answer = answer
  conversation.addAnswer(answer)
  items.add(itemId, item)
  emit({ type: 'response.output_item.added', response_id: response.id, output_index: outputIndex, item })
  emit({ type: 'conversation.item.added', previous_item_id: previous, item })
  const part = modality === 'audio' ? { type: modality, transcript: '' } : { type: modality, text: '' }
  emit({ type: 'response.content_part.added', ...placeOf(answer), part })
}

/** `text`: an increment of the answer's text. */
function addText({ response }: Conversation, { delta }: Output<'text'>, emit: Emit): void {
  const answer = response?.answer
  if (answer === undefined || answer.isDone) return
  answer.text += delta
  const type =
    answer.modality === 'audio' ? 'response.output_audio_transcript.delta' : 'response.output_text.delta'
  emit({ type, ...placeOf(answer), delta })
}

/** `audio`: audio of the answer, also after the end of its response: what a false alarm has stopped is sent again. */
function sendAudio(conversation: Conversation, { itemId, audio }: Output<'audio'>, emit: Emit): void {
  const answer = conversation.answerOf(itemId)
  if (answer === undefined) return
  const { playback, session } = conversation
  playback.add(audio.byteLength, session.outputFormat)
  if (answer.playedText !== undefined) resumeAnswer(conversation, answer)
  const delta = Buffer.from(audio.buffer, audio.byteOffset, audio.byteLength).toString('base64')
  emit({ type: 'response.output_audio.delta', ...placeOf(answer), delta })
}

/** Ends the item of an answer, unless it has ended. @param text all of it; default what came of it */
function closeAnswer(
  { response, items }: Conversation,
  { text, status }: { text: string | undefined; status: 'completed' | 'incomplete' },
  emit: Emit
): void {
  const answer = response?.answer
  if (response === undefined || answer === undefined || answer.isDone) return
  answer.isDone = true
  answer.text = text ?? answer.text
  const place = placeOf(answer)
  const item = toMessage(answer, status)
  const shown = answer.playedText ?? answer.text
  if (answer.modality === 'audio') {
    emit({ type: 'response.output_audio.done', ...place })
    emit({ type: 'response.output_audio_transcript.done', ...place, transcript: shown })
    emit({ type: 'response.content_part.done', ...place, part: { type: 'audio', transcript: shown } })
  } else {
    emit({ type: 'response.output_text.done', ...place, text: shown })
    emit({ type: 'response.content_part.done', ...place, part: { type: 'text', text: shown } })
  }
  response.replace(answer.outputIndex, item)
  items.replace(answer.itemId, item)
  emit({ type: 'conversation.item.done', previous_item_id: answer.previousItemId, item })
  emit({
    type: 'response.output_item.done',
    response_id: response.id,
    output_index: answer.outputIndex,
    item
  })
}

/** `clear`: the answer is what was played of it. */
function clearAnswer(conversation: Conversation, output: Output<'clear'>, emit: Emit): void {
  conversation.playback.cut()
  releaseSpeech(conversation, emit)
  const answer = cutAnswer(conversation, output)
  if (answer !== undefined) emit({ type: 'output_audio_buffer.cleared', response_id: answer.responseId })
}

/** `truncated`: the same, as the client asked for. */
function truncateAnswer(conversation: Conversation, output: Output<'truncated'>, emit: Emit): void {
  conversation.playback.cut()
  cutAnswer(conversation, output)
  const { itemId, heardMs } = output
  emit({
    type: 'conversation.item.truncated',
    item_id: itemId,
    content_index: 0,
    audio_end_ms: Math.round(heardMs)
  })
}

function cutAnswer(
  conversation: Conversation,
  { itemId, text }: Output<'clear'> | Output<'truncated'>
): OpenAnswer | undefined {
  const answer = conversation.answerOf(itemId)
  if (answer === undefined) return undefined
  answer.playedText = text
  if (answer.isDone) conversation.items.replace(itemId, toMessage(answer, 'incomplete'))
  return answer
}

function resumeAnswer({ items }: Conversation, answer: OpenAnswer): void {
  answer.playedText = undefined
  if (answer.isDone) items.replace(answer.itemId, toMessage(answer, 'completed'))
}

function placeOf({ responseId, itemId, outputIndex }: OpenAnswer) {
  return { response_id: responseId, item_id: itemId, output_index: outputIndex, content_index: 0 }
}

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
    id: itemId,
    object: 'realtime.item',
    type: 'function_call',
    status: 'in_progress',
    call_id: toolCallId,
    name: toolName,
    arguments: ''
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
