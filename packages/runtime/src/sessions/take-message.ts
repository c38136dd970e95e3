import type { LanguageModelV4 } from '@ai-sdk/provider'
import { isPromise, type AcceptedMessage, type MessageInput } from '@svc/registry'
import type { RunGuard } from '../guards/run-guard.ts'
import type { UrlOptions } from '../files/allowed-url.ts'
import { hasUrls, resolveUrls } from '../files/resolve-urls.ts'
import { urlSupportOf } from '../files/url-support.ts'
import { loadFiles } from './load-files.ts'

/** What a message is shown to, and what it may wait for. */
export interface MessageReader {
  readonly model: LanguageModelV4
  readonly guard: RunGuard
  readonly urls: UrlOptions
}

/**
 * A message as it is kept, and as the model is shown it: files are read, and URLs fetched that the model does not fetch
 * itself.
 * @throws RUN_ERR_URL_…, and why the run has to end
 */
export async function takeMessage(input: AcceptedMessage, { model, guard, urls }: MessageReader) {
  const loading = loadFiles(input)
  const message: MessageInput = isPromise(loading) ? await guard.wait(loading) : loading
  if (!hasUrls(message)) return { input: message, shown: message }
  const supports = await guard.wait(urlSupportOf(model))
  return { input: message, shown: await resolveUrls(message, supports, urls, guard.signal) }
}
