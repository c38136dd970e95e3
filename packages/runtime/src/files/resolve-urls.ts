import type { ContentPart, MessageInput } from '@svc/contract'
import { requireAllowedUrl, type UrlOptions } from './allowed-url.ts'
import { fetchUrl } from './fetch-url.ts'
import type { UrlSupport } from './url-support.ts'

/** True if a part of the message is a URL. */
export function hasUrls(message: MessageInput): message is ContentPart[] {
  return typeof message !== 'string' && message.some((part) => 'url' in part)
}

/**
 * Prepares a message for the model: keeps URLs that the model fetches itself, and downloads the others one at a time.
 * @throws RUN_ERR_URL_REFUSED, RUN_ERR_URL_FAILED, RUN_ERR_BAD_INPUT
 */
export async function resolveUrls(
  message: readonly ContentPart[],
  supports: UrlSupport,
  options: UrlOptions,
  signal: AbortSignal
): Promise<ContentPart[]> {
  const resolved: ContentPart[] = []
  for (const part of message) {
    if (!('url' in part) || supports(requireAllowedUrl(part.url, options), part.mimeType)) {
      resolved.push(part)
      continue
    }
    const { url, ...rest } = part
    resolved.push({ ...rest, data: (await fetchUrl(url, options, signal)).toString('base64') })
  }
  return resolved
}
