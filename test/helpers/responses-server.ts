import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Item {
  type?: string
  role?: string
  content?: unknown
  output?: unknown
}
interface ResponsesRequest {
  model: string
  input: Item[]
  tools?: unknown[]
}

/** A server with the protocol of OpenAI's responses, which calls the tool `add` for sums and answers with its result. */
export async function startResponsesServer(t: {
  teardown(what: () => unknown): unknown
}): Promise<{ baseUrl: string }> {
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => (server.closeAllConnections(), server.close()))
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` }
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = JSON.parse(Buffer.concat(chunks).toString()) as ResponsesRequest
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
  const events = [
    { type: 'response.created', response: { id: 'resp_1', created_at: 1, model: body.model } },
    ...eventsFor(body),
    { type: 'response.completed', response: { usage } }
  ]
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
}

function eventsFor({ input, tools = [] }: ResponsesRequest): object[] {
  const last = input.at(-1)
  const sum = /(\d+) \+ (\d+)/.exec(JSON.stringify(last?.content ?? ''))
  if (sum !== null && tools.length > 0) {
    const args = JSON.stringify({ a: Number(sum[1]), b: Number(sum[2]) })
    const item = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'add', arguments: args }
    return [
      { type: 'response.output_item.added', output_index: 0, item: { ...item, arguments: '' } },
      { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 0, delta: args },
      { type: 'response.output_item.done', output_index: 0, item: { ...item, status: 'completed' } }
    ]
  }
  const text = last?.type === 'function_call_output' ? `It is ${String(last.output)}.` : 'Once upon a time.'
  const item = { type: 'message', id: 'msg_1' }
  return [
    { type: 'response.output_item.added', output_index: 0, item },
    ...text
      .split(/(?<= )/)
      .map((delta) => ({ type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, delta })),
    { type: 'response.output_item.done', output_index: 0, item }
  ]
}
