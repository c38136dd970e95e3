import type { VoiceOutput } from '@svc/contract'
import type { Conversation } from '../conversation/conversation.ts'
import { toMessage, type OpenAnswer } from '../conversation/open-response.ts'
import type { Emit } from '../events/server-events.ts'
import { releaseSpeech } from './project-speech.ts'

type Output<T extends VoiceOutput['type']> = Extract<VoiceOutput, { type: T }>

/** `answer.start`: adds the item of an answer to the response. */
export function openAnswer(conversation: Conversation, output: Output<'answer.start'>, emit: Emit): void {
  const { response, items } = conversation
  if (response === undefined) return
  const { itemId, modality, previousItemId } = output
  const previous = previousItemId ?? null
  const item = toMessage({ itemId, modality, text: '', playedText: undefined }, 'in_progress')
  const outputIndex = response.add(item)
  const answer: OpenAnswer = {
    ...{ responseId: response.id, itemId, previousItemId: previous, outputIndex, modality },
    ...{ text: '', playedText: undefined, isDone: false }
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
export function addText({ response }: Conversation, { delta }: Output<'text'>, emit: Emit): void {
  const answer = response?.answer
  if (answer === undefined || answer.isDone) return
  answer.text += delta
  const type =
    answer.modality === 'audio' ? 'response.output_audio_transcript.delta' : 'response.output_text.delta'
  emit({ type, ...placeOf(answer), delta })
}

/** `audio`: audio of the answer, also after the end of its response: what a false alarm has stopped is sent again. */
export function sendAudio(conversation: Conversation, { itemId, audio }: Output<'audio'>, emit: Emit): void {
  const answer = conversation.answerOf(itemId)
  if (answer === undefined) return
  const { playback, session } = conversation
  playback.add(audio.byteLength, session.outputFormat)
  if (answer.playedText !== undefined) resumeAnswer(conversation, answer)
  const delta = Buffer.from(audio.buffer, audio.byteOffset, audio.byteLength).toString('base64')
  emit({ type: 'response.output_audio.delta', ...placeOf(answer), delta })
}

/** Ends the item of an answer, unless it has ended. @param text all of it; default what came of it */
export function closeAnswer(
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
export function clearAnswer(conversation: Conversation, output: Output<'clear'>, emit: Emit): void {
  conversation.playback.cut()
  releaseSpeech(conversation, emit)
  const answer = cutAnswer(conversation, output)
  if (answer !== undefined) emit({ type: 'output_audio_buffer.cleared', response_id: answer.responseId })
}

/** `truncated`: the same, as the client asked for. */
export function truncateAnswer(conversation: Conversation, output: Output<'truncated'>, emit: Emit): void {
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
