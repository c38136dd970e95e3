import type { NumberedPart, PartOf, RunEngine, SessionMessage } from '@svc/registry'
import { readPresent, type Turn } from '@svc/registry/wire-kit'
import { MessageChunks, type FileUrl } from '../projection/message-chunks.ts'
import type { UiMessage } from '../wire/messages.ts'
import { MessageBuilder } from './build-message.ts'
import { toUserMessage } from './user-message.ts'

/**
 * The messages of a run as its log has them: what the user asked, and the answer so far. Undefined if the log is no longer kept.
 * @throws RUN_ERR_DAMAGED, RUN_ERR_STORE
 */
export async function messagesOfRun(
  { stores }: Pick<RunEngine, 'stores'>,
  runId: string,
  fileUrl: FileUrl
): Promise<UiMessage[] | undefined> {
  const chunks = new MessageChunks(fileUrl)
  const answer = new MessageBuilder()
  let start: PartOf<'start'> | undefined
  for await (const { part } of readPresent(stores, runId)) {
    if (part.type === 'start' && !part.source?.length) start = part
    for (const chunk of chunks.add(part)) answer.add(chunk)
  }
  if (start === undefined) return undefined
  if (chunks.isWaiting) for (const chunk of chunks.pause()) answer.add(chunk)
  const user = toUserMessage(runId, start.input, fileUrl)
  return [...(user.parts.length > 0 ? [user] : []), ...(answer.isEmpty ? [] : [answer.build()])]
}

/** The messages of a turn as its session keeps them: text, tool calls and files. */
export function messagesOfTurn({ runId, messages }: Turn, fileUrl: FileUrl): UiMessage[] {
  const [first, ...rest] = messages
  const user = first?.role === 'user' ? [toUserMessage(runId, first.content, fileUrl)] : []
  const said = user.length > 0 ? rest : messages
  const answer = new MessageBuilder()
  const chunks = new MessageChunks(fileUrl)
  for (const part of partsOf(runId, said)) for (const chunk of chunks.add(part)) answer.add(chunk)
  const metadata = { runId, status: 'completed' }
  return [...user, ...(answer.isEmpty ? [] : [{ ...answer.build(), metadata }])]
}

/** The parts that would have made these messages, without what a session does not keep. */
function* partsOf(runId: string, messages: readonly SessionMessage[]): Generator<NumberedPart> {
  let seq = 0
  const place = () => ({ seq: ++seq, at: 0 })
  let index = 0
  const start = { type: 'start', runId, sessionId: '', kind: 'agent', name: '' } as const
  // Only the id of the message is needed of it.
  yield { ...start, ...place() }
  for (const message of messages) {
    if (message.role === 'user') {
      const value = { steerId: `${runId}.${seq}`, message: message.content }
      yield { type: 'data', name: 'steer', value, ...place() }
    } else if (message.role === 'assistant') {
      yield { type: 'step.start', index: index++, attempt: 1, ...place() }
      if (message.text !== '') yield { type: 'text', text: message.text, ...place() }
      for (const file of message.files ?? []) {
        const { type: _, ...about } = file
        yield { type: 'file', ...about, ...place() }
      }
      for (const { toolCallId, toolName, args, providerExecuted } of message.toolCalls ?? [])
        yield {
          type: 'tool.call',
          ...{ toolCallId, toolName, args },
          ...(providerExecuted && { providerExecuted }),
          ...place()
        }
    } else {
      const { toolCallId, toolName, result, error } = message
      if (error === undefined)
        yield { type: 'tool.result', toolCallId, toolName, result, durationMs: 0, ...place() }
      else yield { type: 'tool.error', toolCallId, toolName, error, ...place() }
    }
  }
  const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }
  yield { type: 'step', index, usage, ...place() }
}
