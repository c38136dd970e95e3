import { request } from 'node:http'

/** Sends a request whose path is not touched by a URL parser, and gives what comes back. */
export function sendPath(
  origin: string,
  { method, path, body, headers }: { method: string; path: string; body?: unknown; headers?: object }
): Promise<{ status: number; body: string; headers: Record<string, unknown> }> {
  const { hostname, port } = new URL(origin)
  return new Promise((resolve, reject) => {
    const all = { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) }
    const req = request({ hostname, port, method, path, headers: all }, (res) => {
      let text = ''
      res.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      res.on('end', () => resolve({ status: res.statusCode ?? 0, body: text, headers: res.headers }))
      res.on('error', reject)
    })
    req.on('error', reject)
    req.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
