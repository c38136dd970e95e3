import { codeOf, randomId } from '@svc/contract'
import type { FunctionCallOutput, UserMessage } from '../events/items.ts'
import { ProtocolError, type ProtocolCode } from '../events/read-event.ts'
import type { Caller, Handler } from './handler.ts'

/** `conversation.item.create`: a message of the user in writing, or the output of a function call. @throws ProtocolError */
export const createItem: Handler<'conversation.item.create'> = (caller, event) => {
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
export const retrieveItem: Handler<'conversation.item.retrieve'> = (
  { conversation, emit },
  { item_id: id }
) => {
  const item = conversation.items.get(id)
  if (item === undefined) throw noItem('item_retrieve_invalid_item_id', 'retrieving', id)
  emit({ type: 'conversation.item.retrieved', item })
}

/** `conversation.item.delete`: refused, since what was said stays in the session of the agent. @throws ProtocolError */
export const deleteItem: Handler<'conversation.item.delete'> = ({ conversation }, { item_id: id }) => {
  if (!conversation.items.has(id)) throw noItem('item_delete_invalid_item_id', 'deleting', id)
  throw new ProtocolError(
    'unsupported_value',
    'Items cannot be deleted: the agent keeps its conversation.',
    'item_id'
  )
}

/** `conversation.item.truncate`: the client has stopped an answer. @throws ProtocolError */
export const truncateItem: Handler<'conversation.item.truncate'> = ({ call }, event) => {
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
