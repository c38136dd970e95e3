import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createOpenAI } from '@ai-sdk/openai'

/** Answers one request. */
export type Answer = (reply: ServerResponse, request: IncomingMessage) => void

/** A server for OpenAI's chat completions: each request gets the next answer, and the last one repeats. */
export async function startChatServer(t: { teardown(fn: () => unknown): void }, answers: readonly Answer[]) {
  const bodies: Record<string, unknown>[] = []
  const server = createServer((request, reply) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      bodies.push(JSON.parse(body) as Record<string, unknown>)
      const answerIt = answers.at(Math.min(bodies.length, answers.length) - 1)
      answerIt?.(reply, request)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const baseURL = `http://127.0.0.1:${port}/v1`
  return { bodies, baseURL, model: createOpenAI({ baseURL, apiKey: KEY }).chat('m') }
}

/** The API key of the model. */
export const KEY = 'sk-test-4711aB'

/** The chunks of a stream, as events. */
export const chunk = (delta: object, finishReason: string | null = null) =>
  `data: ${JSON.stringify({
    id: '1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finishReason }]
  })}\n\n`

/** Starts a stream with these chunks. */
export const begin = (reply: ServerResponse, ...pieces: string[]) => {
  reply.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const piece of pieces) reply.write(piece)
}

/** A complete answer. */
export const answer =
  (...texts: string[]): Answer =>
  (reply) => {
    const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
    begin(
      reply,
      ...texts.map((content) => chunk({ role: 'assistant', content })),
      chunk({}, 'stop'),
      `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage })}\n\n`
    )
    reply.end('data: [DONE]\n\n')
  }

/** An error in the format of OpenAI. */
export const refuse =
  (status: number, message = 'no', headers: Record<string, string> = {}): Answer =>
  (reply) => {
    reply.writeHead(status, { 'content-type': 'application/json', ...headers })
    reply.end(JSON.stringify({ error: { message, type: 'some_error', param: null, code: null } }))
  }
