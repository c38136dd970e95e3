import type { ClientEvent, ClientEventType } from '../events/client-events.ts'
import type { Caller, Handler } from './handler.ts'
import { createItem, deleteItem, retrieveItem, truncateItem } from './items.ts'
import { cancelResponse, createResponse } from './responses.ts'
import { appendAudio, clearAudio, commitAudio, refuseOutputClear, updateSession } from './session.ts'

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
