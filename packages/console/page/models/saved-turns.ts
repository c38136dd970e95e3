import type { SessionMessage } from '@svc/contract'
import type { RunItem, ToolItem } from './run-items.ts'

/** What was said in one run, as the session keeps it. */
export interface SavedTurn {
  readonly runId: string
  readonly messages: readonly SessionMessage[]
}

/** The messages of a session by their turns; those of a turn follow each other. */
export function toTurns(messages: readonly { runId: string; message: SessionMessage }[]): SavedTurn[] {
  const turns: { runId: string; messages: SessionMessage[] }[] = []
  for (const { runId, message } of messages) {
    const last = turns.at(-1)
    if (last?.runId === runId) last.messages.push(message)
    else turns.push({ runId, messages: [message] })
  }
  return turns
}

/** A message of the user. */
export interface AskedItem {
  readonly kind: 'asked'
  readonly id: string
  readonly content: unknown
}

/** What a turn of a session has to show, as far as its messages have it. A summary is for models: what it replaces is shown itself. */
export function toItems(messages: readonly SessionMessage[]): (RunItem | AskedItem)[] {
  const items: (RunItem | AskedItem)[] = []
  const common = { source: [], at: 0 }
  for (const [at, message] of messages.entries()) {
    const id = `saved-${at}`
    if (message.role === 'user') items.push({ kind: 'asked', id, content: message.content })
    else if (message.role === 'assistant') {
      const { text, files = [], toolCalls = [] } = message
      if (text !== '') items.push({ ...common, kind: 'text', id, text })
      for (const [index, { type: _, ...file }] of files.entries())
        items.push({ ...common, kind: 'file', id: `${id}-file-${index}`, part: { type: 'file', ...file } })
      for (const call of toolCalls) items.push(toToolItem(call))
    } else if (message.role === 'tool') {
      const place = items.findLastIndex(
        (item) => item.kind === 'tool' && item.toolCallId === message.toolCallId
      )
      const call = items[place]
      if (call?.kind !== 'tool') continue
      const { result, error } = message
      items[place] = { ...call, result, error, state: error === undefined ? 'done' : 'failed' }
    }
  }
  return items
}

function toToolItem({
  toolCallId,
  toolName,
  args
}: {
  toolCallId: string
  toolName: string
  args: unknown
}): ToolItem {
  return {
    kind: 'tool',
    id: toolCallId,
    source: [],
    at: 0,
    toolCallId,
    toolName,
    args,
    parentToolCallId: undefined,
    isOfClient: false,
    draft: '',
    state: 'called',
    result: undefined,
    error: undefined,
    durationMs: undefined,
    approval: undefined
  }
}
