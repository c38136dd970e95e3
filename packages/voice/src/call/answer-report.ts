import { toLoggable } from '@svc/contract'
import type { Answering } from './answering.ts'
import type { CallScope } from './call-scope.ts'

/** Writes the `voice.turn` of an answer, and emits its event. */
export function reportAnswer({ context, events, write }: CallScope, answering: Answering): void {
  const { request, response, playback, turns, error } = answering
  if (request === undefined) return
  const status = answering.status === 'canceled' ? 'interrupted' : answering.status
  const { runId, log } = context
  if (error !== undefined) log.warn({ runId, err: toLoggable(error) }, 'the turn of a call failed')
  const last = turns.at(-1)
  const { index } = request
  const itemId = response.itemId === '' ? (last?.itemId ?? '') : response.itemId
  const latency = last === undefined ? {} : latencyOf(answering, last)
  write({ type: 'voice.turn', index, itemId, status, heardMs: playback.ms, text: playback.text, latency })
  events.emit('voice.turn', () => ({ index, status, latency }))
}

// Milliseconds since the user stopped speaking.
function latencyOf(
  { response }: Answering,
  { stoppedAt, endpointMs, transcriptMs }: Answering['turns'][number]
) {
  const { firstTokenAt, firstAudioAt } = response.times
  return {
    endpointMs,
    ...(transcriptMs !== undefined && { transcriptMs }),
    ...(firstTokenAt !== undefined && { firstTokenMs: firstTokenAt - stoppedAt }),
    ...(firstAudioAt !== undefined && { firstAudioMs: firstAudioAt - stoppedAt })
  }
}
