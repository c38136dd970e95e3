import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import { createPublicLookup } from '@svc/registry/engine'
import { RUN_ERR_URL_FAILED, RUN_ERR_URL_REFUSED } from '../errors.ts'
import { isExempt, requireAllowedUrl, type UrlOptions } from './allowed-url.ts'

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
