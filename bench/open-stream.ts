import type { LoadRequest } from './load.ts'

/** Opens a stream, and resolves with what follows once it has said something. */
export async function openStream(url: string, { path, body }: Pick<LoadRequest, 'path' | 'body'>) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })
  const reader = response.body!.getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`${path} ended before it said anything`)
    if (Buffer.from(value).includes('"type":"text"')) return reader
  }
}
