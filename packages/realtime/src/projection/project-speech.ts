import type { VoiceOutput } from '@svc/contract'
import type { Conversation } from '../conversation/conversation.ts'
import type { Emit } from '../events/server-events.ts'

type Output<T extends VoiceOutput['type']> = Extract<VoiceOutput, { type: T }>

/**
 * `speech.start`: the user speaks. Clients discard an answer and truncate it as soon as they receive this, so that while one plays it is
 * held back until the call stops it, or the turn is over: noise that is too short to interrupt is not reported.
 */
export function startSpeech(
  conversation: Conversation,
  { itemId, atMs }: Output<'speech.start'>,
  emit: Emit
): void {
  const { playback, session } = conversation
  conversation.speech = { itemId, startMs: atMs, endMs: undefined }
  conversation.isSpeechHeld = session.interrupts && playback.isPlaying()
  if (!conversation.isSpeechHeld) emitStart(conversation, emit)
}

/** `speech.stop`: the user is silent. */
export function stopSpeech(
  conversation: Conversation,
  { itemId, atMs }: Output<'speech.stop'>,
  emit: Emit
): void {
  const { speech, isSpeechHeld } = conversation
  if (speech?.itemId !== itemId) return
  conversation.speech = { ...speech, endMs: atMs }
  if (!isSpeechHeld) emitStop(conversation, emit)
}

/** Reports speech that was held back. */
export function releaseSpeech(conversation: Conversation, emit: Emit): void {
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
