import { dropOldest, type VoiceOutput } from '@svc/contract'
import type { Conversation, EarlyTranscript } from '../conversation/conversation.ts'
import type { Item, UserMessage } from '../events/items.ts'
import type { Emit } from '../events/server-events.ts'
import { releaseSpeech } from './project-speech.ts'

/** Transcripts without an item that are kept: of speech that was none they have no end. */
const MAX_EARLY = 64

type Output<T extends VoiceOutput['type']> = Extract<VoiceOutput, { type: T }>

/** `item`: a turn of the user took its place; a spoken one was committed. */
export function addTurn(conversation: Conversation, output: Output<'item'>, emit: Emit): void {
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
export function transcribe(conversation: Conversation, output: Output<'transcript'>, emit: Emit): void {
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
export function failTranscript(
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
