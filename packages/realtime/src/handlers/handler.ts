import { codeOf } from '@svc/contract'
import { type LiveCall } from '@svc/surface'
import type { Conversation } from '../conversation/conversation.ts'
import type { ClientEvents, ClientEventType } from '../events/client-events.ts'
import type { Emit } from '../events/server-events.ts'

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
