import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connectLookup, requirePublicHost, type TargetRules } from './safe-target.ts'

export interface SafeRequest {
  headers: Readonly<Record<string, string>>
  body: string
  signal: AbortSignal
}

/**
 * Posts to a URL from a client and returns the status of the answer. Connects to checked addresses only, follows no redirect,
 * and reads no answer.
 * @throws UnsafeTargetError, and what the network throws
 */
export async function safePost(url: URL, request: SafeRequest, rules: TargetRules): Promise<number> {
  const { headers, body, signal } = request
  requirePublicHost(url, rules)
  signal.throwIfAborted()
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const outgoing = send(
      url,
      {
        method: 'POST',
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        lookup: connectLookup(rules),
        // No pool: a pooled connection would skip the look-up.
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
