import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connectLookup, requirePublicHost, type TargetRules } from './safe-target.ts'

/** What is sent. */
export interface SafeRequest {
  headers: Readonly<Record<string, string>>
  body: string
  signal: AbortSignal
}

/**
 * Posts to a URL that a client gave, and gives the status of the answer. Only addresses that were checked are connected to,
 * no redirect is followed, and the answer is not read.
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
