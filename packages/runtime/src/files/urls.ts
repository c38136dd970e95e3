import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { Type, type TSchema } from '@sinclair/typebox'
import { millisecondsSchema, type ContentPart, type ContentReference } from '@svc/contract'
import { RUN_ERR_BAD_INPUT } from '@svc/contract/errors'
import { createPublicLookup, isPublicHost, sha256Of } from '@svc/registry/engine'
import { RUN_ERR_URL_FAILED, RUN_ERR_URL_REFUSED } from '../errors.ts'

/** How URLs of an input are fetched. */
export interface UrlOptions {
  /** Hosts that may have private addresses, with a port if not the default (`files.internal:9000`); default none. */
  allowHosts: readonly string[]
  /** Maximum size of one file; default 20 MiB. */
  maxBytes: number
  /** Milliseconds for one file, including redirects; default 20,000. */
  timeout: number
}

export const UrlOptionsSchema = Type.Object(
  {
    allowHosts: Type.Optional(Type.Array(Type.String({ minLength: 1 }))),
    maxBytes: Type.Optional(Type.Integer({ minimum: 1, description: 'Of one file; default 20 MiB' })),
    timeout: Type.Optional(millisecondsSchema('For one file; default 20,000'))
  } satisfies Record<keyof UrlOptions, TSchema>,
  { additionalProperties: false }
)

export const URL_DEFAULTS: UrlOptions = { allowHosts: [], maxBytes: 20 * 1024 * 1024, timeout: 20_000 }

/** True if the host may have a private address. */
function isExempt({ host }: URL, { allowHosts }: UrlOptions): boolean {
  return allowHosts.includes(host)
}

/**
 * Parses a URL of an input: http or https only, without credentials, and not a literally private host. The addresses of a
 * name are checked on connect.
 * @throws RUN_ERR_URL_REFUSED, RUN_ERR_BAD_INPUT
 */
export function requireAllowedUrl(text: string, options: UrlOptions): URL {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new RUN_ERR_BAD_INPUT('a url is not http or https')
  if (url.username !== '' || url.password !== '') throw new RUN_ERR_URL_REFUSED()
  if (isExempt(url, options)) return url
  if (!isPublicHost(url)) throw new RUN_ERR_URL_REFUSED()
  return url
}

const MAX_REDIRECTS = 3
const publicLookup = createPublicLookup(RUN_ERR_URL_REFUSED)

/**
 * Fetches a URL that a client sent, from the public internet only: checks the address of every connection, redirects
 * included, and limits time and size.
 * @throws RUN_ERR_URL_REFUSED, RUN_ERR_URL_FAILED, the reason of the signal
 */
export async function fetchUrl(
  text: string,
  options: UrlOptions,
  signal: AbortSignal,
  lookup: LookupFunction = publicLookup
): Promise<Buffer> {
  const timeout = AbortSignal.timeout(options.timeout)
  const ending = AbortSignal.any([signal, timeout])
  try {
    let url = requireAllowedUrl(text, options)
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const response = await get(url, ending, isExempt(url, options) ? undefined : lookup)
      const { statusCode = 0, headers } = response
      if (statusCode >= 300 && statusCode < 400 && headers.location !== undefined) {
        response.destroy()
        const next = URL.parse(headers.location, url.href)
        if (next === null) throw new RUN_ERR_URL_FAILED('it redirects to an invalid URL')
        url = requireAllowedUrl(next.href, options)
        continue
      }
      return await read(response, options.maxBytes)
    }
    throw new RUN_ERR_URL_FAILED(`more than ${MAX_REDIRECTS} redirects`)
  } catch (err) {
    signal.throwIfAborted()
    if (timeout.aborted) throw new RUN_ERR_URL_FAILED(`it took longer than ${options.timeout} ms`)
    if (err instanceof RUN_ERR_URL_FAILED || err instanceof RUN_ERR_URL_REFUSED) throw err
    // Details would reveal the internal network.
    throw new RUN_ERR_URL_FAILED('no answer')
  }
}

function get(url: URL, signal: AbortSignal, lookup: LookupFunction | undefined): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const { get: send } = url.protocol === 'https:' ? https : http
  // A fresh connection: no pool, no proxy.
  const request = send(url, {
    agent: false,
    signal,
    ...(lookup && { lookup }),
    headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'svc-runtime' }
  })
  request.on('response', resolve).on('error', reject)
  return promise
}

async function read(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  try {
    const { statusCode, headers } = response
    if (statusCode !== 200) throw new RUN_ERR_URL_FAILED(`status ${statusCode}`)
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
      throw new RUN_ERR_URL_FAILED('the response is compressed')
    const tooLarge = () => new RUN_ERR_URL_FAILED(`it is larger than ${maxBytes} bytes`)
    if (Number(headers['content-length']) > maxBytes) throw tooLarge()
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maxBytes) throw tooLarge()
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } finally {
    response.destroy()
  }
}

/** True if a part of the message is a URL. */
export function hasUrls(message: readonly ContentPart[]): boolean {
  return message.some((part) => 'url' in part)
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

/** True if the model itself fetches a URL of this media type. */
export type UrlSupport = (url: URL, mimeType: string) => boolean

/** Reads from `supportedUrls` which URLs a model fetches itself. */
export async function urlSupportOf({ supportedUrls }: LanguageModelV4): Promise<UrlSupport> {
  const patterns = Object.entries((await supportedUrls) ?? {}).map(([type, urls]) => ({
    fits: typeFits(type.toLowerCase()),
    urls
  }))
  return ({ href }, mimeType) => {
    const type = mimeType.toLowerCase()
    // Not `href.toLowerCase()`: paths are case-sensitive.
    return patterns.some(({ fits, urls }) => fits(type) && urls.some((url) => href.search(url) !== -1))
  }
}

function typeFits(pattern: string): (type: string) => boolean {
  if (pattern === '*' || pattern === '*/*') return () => true
  if (pattern.endsWith('/*')) return (type) => type.startsWith(pattern.slice(0, -1))
  return (type) => type === pattern
}

/** Replaces inline binary content by its type, size and hash, as logs and sessions keep it; other parts are unchanged. */
export async function toReference(part: ContentPart) {
  if (part.type === 'text' || 'url' in part) return part
  const { type, mimeType, filename, data } = part
  const bytes = Buffer.from(data, 'base64')
  const sha256 = await sha256Of(bytes)
  const reference: ContentReference = { type, mimeType, sha256, size: bytes.length }
  return filename === undefined ? reference : { ...reference, filename }
}
