import type { McpMessage, SeenMessage } from './mcp-schemas.ts'

/** A `fetch` that reads the replies of an MCP server along with its client. */
export interface AlongReader {
  readonly fetch: typeof fetch
  /** All messages of the server, once every reply has ended. */
  messages(): Promise<SeenMessage[]>
}

export function readAlong(): AlongReader {
  const reads: Promise<SeenMessage[]>[] = []
  return {
    async fetch(input, init) {
      const response = await fetch(input, init)
      const { body, status, headers } = response
      if (body === null || typeof init?.body !== 'string') return response
      const { method = '' } = JSON.parse(init.body) as McpMessage
      const [own, theirs] = body.tee()
      const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true
      reads.push(readMessages(own, isStream).then((all) => all.map((message) => ({ method, message }))))
      return new Response(theirs, { status, headers })
    },
    messages: async () => (await Promise.all(reads)).flat()
  }
}

async function readMessages(body: ReadableStream<Uint8Array>, isStream: boolean): Promise<McpMessage[]> {
  let text = ''
  try {
    for await (const piece of body.pipeThrough(new TextDecoderStream())) text += piece
  } catch {
    // The client has closed the stream.
  }
  const all = isStream ? [...text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => data) : [text]
  return all.filter((json) => json !== '').map((json) => JSON.parse(json) as McpMessage)
}
