import type { VoiceOutput } from '@svc/contract'
import type { Conversation } from '../conversation/conversation.ts'
import type { Item } from '../events/items.ts'
import type { Emit } from '../events/server-events.ts'

/** `tool.call`: a function call of the response; its arguments come as one increment. */
export function projectToolCall(
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
