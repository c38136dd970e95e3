import type { LanguageModelV4 } from '@ai-sdk/provider'
import {
  isPromise,
  textOfInput,
  type AcceptedMessage,
  type Awaitable,
  type MessageInput,
  type RunContext,
  type RunInput
} from '@svc/contract'
import type { RunGuard } from '../guards/run-guard.ts'
import type { UrlOptions } from '../files/allowed-url.ts'
import { hasUrls, resolveUrls } from '../files/resolve-urls.ts'
import { urlSupportOf } from '../files/url-support.ts'
import { loadFiles } from './load-files.ts'
import type { TakenMessage } from './turn.ts'

/** The model that receives a message, and the limits for its files. */
export interface MessageReader {
  readonly model: LanguageModelV4
  readonly guard: RunGuard
  readonly urls: UrlOptions
}

/**
 * Returns a message as the session stores it and as the model receives it: reads files, and fetches the URLs that the model
 * does not fetch itself.
 * @throws RUN_ERR_URL_…, or the reason why the run must end
 */
export function takeMessage(input: AcceptedMessage, reader: MessageReader): Awaitable<TakenMessage> {
  const loading = loadFiles(input)
  if (isPromise(loading) || hasUrls(loading)) return loadMessage(loading, reader)
  return { input: loading, shown: loading }
}

async function loadMessage(
  loading: Awaitable<MessageInput>,
  { model, guard, urls }: MessageReader
): Promise<TakenMessage> {
  const message = isPromise(loading) ? await guard.wait(loading) : loading
  if (!hasUrls(message)) return { input: message, shown: message }
  const supports = await guard.wait(urlSupportOf(model))
  return { input: message, shown: await resolveUrls(message, supports, urls, guard.signal) }
}

type Kept = Pick<RunContext, 'messages'>

/** True if a run without an input continues a conversation: one that ends with the results of tool calls, or with the beginning of an answer. */
export function isContinued(input: RunInput, { messages }: Kept): boolean {
  return input === undefined && messages !== undefined && messages.length > 0
}

/** The text of the user's message that a run answers: its input, or else the last one of the conversation. */
export function questionOf(input: RunInput, { messages = [] }: Kept): string {
  if (input !== undefined) return textOfInput(input)
  const last = messages.findLast(({ role }) => role === 'user')
  return last?.role === 'user' ? textOfInput(last.content) : ''
}
