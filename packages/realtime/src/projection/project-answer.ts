import type { VoiceOutput } from '@svc/registry'
import type { Conversation } from '../conversation/conversation.ts'
import { toMessage, type OpenAnswer } from '../conversation/open-response.ts'
import type { Emit } from '../events/server-events.ts'

type Output<T extends VoiceOutput['type']> = Extract<VoiceOutput, { type: T }>

/** `answer.start`: adds the item of an answer to the response. */
export function openAnswer(conversation: Conversation, output: Output<'answer.start'>, emit: Emit): void {
  const { response, items } = conversation
  if (response === undefined) return
  const { itemId, modality, previousItemId } = output
  const previous = previousItemId ?? null
  const item = toMessage({ itemId, modality, text: '' }, 'in_progress')
  const outputIndex = response.add(item)
  response.answer = {
    ...{ itemId, previousItemId: previous, outputIndex, modality },
    ...{ text: '', hasAudio: false, isDone: false }
  }
  items.add(itemId, item)
  emit({ type: 'response.output_item.added', response_id: response.id, output_index: outputIndex, item })
  emit({ type: 'conversation.item.added', previous_item_id: previous, item })
  const part = modality === 'audio' ? { type: modality, transcript: '' } : { type: modality, text: '' }
  emit({ type: 'response.content_part.added', ...placeOf(response.id, response.answer), part })
}

/** `text`: an increment of the answer's text. */
export function addText({ response }: Conversation, { delta }: Output<'text'>, emit: Emit): void {
  const answer = response?.answer
  if (answer === undefined || answer.isDone) return
  answer.text += delta
  const type =
    answer.modality === 'audio' ? 'response.output_audio_transcript.delta' : 'response.output_text.delta'
  emit({ type, ...placeOf(response!.id, answer), delta })
}

/** `audio`: audio of the answer. */
export function sendAudio({ response }: Conversation, { audio }: Output<'audio'>, emit: Emit): void {
  const answer = response?.answer
  if (answer === undefined || answer.isDone) return
  answer.hasAudio = true
  const delta = Buffer.from(audio.buffer, audio.byteOffset, audio.byteLength).toString('base64')
  emit({ type: 'response.output_audio.delta', ...placeOf(response!.id, answer), delta })
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
  const place = placeOf(response.id, answer)
  const item = toMessage(answer, status)
  if (answer.modality === 'audio') {
    emit({ type: 'response.output_audio.done', ...place })
    emit({ type: 'response.output_audio_transcript.done', ...place, transcript: answer.text })
    emit({
      type: 'response.content_part.done',
      ...place,
      part: { type: 'audio', transcript: answer.text }
    })
  } else {
    emit({ type: 'response.output_text.done', ...place, text: answer.text })
    emit({ type: 'response.content_part.done', ...place, part: { type: 'text', text: answer.text } })
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

/** `clear`, `truncated`: the answer is what was played of it. */
export function cutAnswer(
  { response, items }: Conversation,
  { type, itemId, heardMs, text }: Output<'clear'> | Output<'truncated'>,
  emit: Emit
): void {
  const item = items.get(itemId)
  const answer = response?.answer?.itemId === itemId ? response.answer : undefined
  if (answer !== undefined) answer.text = text
  if (item?.type === 'message' && item.role === 'assistant' && item.content[0] !== undefined) {
    const modality = item.content[0].type === 'output_audio' ? 'audio' : 'text'
    const cut = toMessage({ itemId, modality, text }, 'incomplete')
    items.replace(itemId, cut)
    if (answer !== undefined) response!.replace(answer.outputIndex, cut)
  }
  if (type === 'clear' && response !== undefined)
    emit({ type: 'output_audio_buffer.cleared', response_id: response.id })
  if (type === 'truncated')
    emit({
      type: 'conversation.item.truncated',
      item_id: itemId,
      content_index: 0,
      audio_end_ms: Math.round(heardMs)
    })
}

function placeOf(responseId: string, { itemId, outputIndex }: OpenAnswer) {
  return { response_id: responseId, item_id: itemId, output_index: outputIndex, content_index: 0 }
}
