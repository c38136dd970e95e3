import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { LookupAddress } from 'node:dns'
import { resolveTarget, type TargetRules } from './safe-target.ts'

/** What is sent. */
export interface SafeRequest {
  headers: Readonly<Record<string, string>>
  body: string
  signal: AbortSignal
}

/**
 * Posts to a URL that a client gave, and gives the status of the answer. The host is resolved, its addresses are checked,
 * and only those are connected to. No redirect is followed, and the answer is not read.
 * @throws UnsafeTargetError, and what the network throws
 */
export async function safePost(url: URL, request: SafeRequest, rules: TargetRules): Promise<number> {
  const { headers, body, signal } = request
  const addresses = await resolveTarget(url, rules)
  signal.throwIfAborted()
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const outgoing = send(
      url,
      {
        method: 'POST',
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        lookup: pinnedTo(addresses),
        // No pool: a connection of an earlier look-up is not used again.
        agent: false,
        signal
      },
      (response) => {
        response.on('error', () => {})
        response.destroy()
        resolve(response.statusCode ?? 0)
      }
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

function pinnedTo(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, done) => {
    const wanted = addresses.filter(({ family }) => !options.family || family === options.family)
    const [first] = wanted
    if (first === undefined)
      return done(Object.assign(new Error('No such address'), { code: 'ENOTFOUND' }), '')
    return options.all ? done(null, [...wanted]) : done(null, first.address, first.family)
  }
}
