import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface ChatRequest {
  model: string
  stream?: boolean
  messages: { role: string; content: unknown; tool_call_id?: string }[]
  tools?: { function: { name: string } }[]
}

/** A request as the server got it. */
export interface SeenRequest {
  url: string
  authorization: string | undefined
  body: ChatRequest
}

export interface OpenAiServer {
  baseUrl: string
  requests: SeenRequest[]
  /** The status of every answer from now on; 200 until it is set. */
  status: number
}

/** A server with OpenAI's chat completions: it has 6 * 7 calculated by a tool, and then tells what came of it. */
export async function startOpenAiServer(t: {
  teardown(what: () => unknown): unknown
}): Promise<OpenAiServer> {
  const server = createServer((request, response) => void answer(request, response))
  const state: OpenAiServer = { baseUrl: '', requests: [], status: 200 }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => (server.closeAllConnections(), server.close()))
  state.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return state

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as ChatRequest
    const { authorization } = request.headers
    state.requests.push({ url: request.url ?? '', authorization, body })
    if (state.status !== 200) {
      const error = { message: `Incorrect API key provided: ${authorization}`, type: 'invalid_request_error' }
      response.writeHead(state.status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const delta of deltasFor(body)) response.write(event(body.model, { delta, finish_reason: null }))
    const reason = lastTool(body) === undefined ? 'tool_calls' : 'stop'
    response.write(event(body.model, { delta: {}, finish_reason: reason }))
    response.end(`${event(body.model)}data: [DONE]\n\n`)
  }
}

function deltasFor(body: ChatRequest): object[] {
  const tool = lastTool(body)
  if (tool !== undefined) {
    const { value } = JSON.parse(String(tool.content)) as { value: string }
    return ['The answer ', 'is ', `${value}.`].map((content) => ({ content }))
  }
  const call = (rest: object) => ({ tool_calls: [{ index: 0, ...rest }] })
  return [
    { role: 'assistant', content: null },
    call({ id: 'call_1', type: 'function', function: { name: 'calculate', arguments: '' } }),
    call({ function: { arguments: '{"expression":' } }),
    call({ function: { arguments: '"6 * 7"}' } })
  ]
}

function lastTool({ messages }: ChatRequest): ChatRequest['messages'][number] | undefined {
  const last = messages.at(-1)
  return last?.role === 'tool' ? last : undefined
}

function event(model: string, choice?: object): string {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  const chunk = {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model,
    choices: choice === undefined ? [] : [{ index: 0, ...choice }],
    ...(choice === undefined && { usage })
  }
  return `data: ${JSON.stringify(chunk)}\n\n`
}
