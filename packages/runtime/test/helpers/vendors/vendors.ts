import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createGroq } from '@ai-sdk/groq'
import { createMistral } from '@ai-sdk/mistral'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createXai } from '@ai-sdk/xai'
import type { Model } from '@svc/runtime'
import {
  judgeChat,
  judgeContents,
  judgeConverse,
  judgeItems,
  judgeMessages,
  judgeMistral,
  judgeText,
  type Judge
} from './judges.ts'
import { completions, contents, converse, messages, responses, type Said, type Wire } from './wires.ts'

/** A vendor: its package, its format, and what it refuses. */
export interface Vendor {
  readonly model: (origin: string) => Model
  readonly wire: Wire
  readonly judge: Judge
  /** A reason to stop with nothing said, which a second try may not have. */
  readonly oddReason: string
}

const apiKey = 'sk-test-4711aB'

/** Every package that the runtime is tested with, by its name. */
export const VENDORS: Readonly<Record<string, Vendor>> = {
  anthropic: {
    model: (origin) => createAnthropic({ baseURL: `${origin}/v1`, apiKey })('claude-sonnet-4-5'),
    wire: messages,
    judge: judgeMessages,
    oddReason: 'compaction'
  },
  google: {
    model: (origin) => createGoogleGenerativeAI({ baseURL: `${origin}/v1beta`, apiKey })('gemini-2.5-flash'),
    wire: contents,
    judge: judgeContents,
    oddReason: 'MALFORMED_FUNCTION_CALL'
  },
  'openai responses': {
    model: (origin) => createOpenAI({ baseURL: `${origin}/v1`, apiKey })('gpt-5-mini'),
    wire: responses,
    judge: judgeItems,
    oddReason: 'unforeseen'
  },
  'openai chat': {
    model: (origin) => createOpenAI({ baseURL: `${origin}/v1`, apiKey }).chat('gpt-4.1'),
    wire: completions,
    judge: judgeChat,
    oddReason: 'unforeseen'
  },
  'openai-compatible': {
    model: (origin) =>
      createOpenAICompatible({ name: 'vllm', baseURL: `${origin}/v1`, apiKey, includeUsage: true })('m'),
    wire: completions,
    judge: judgeChat,
    oddReason: 'abort'
  },
  groq: {
    model: (origin) => createGroq({ baseURL: `${origin}/v1`, apiKey })('llama-3.3-70b-versatile'),
    wire: completions,
    judge: judgeChat,
    oddReason: 'unforeseen'
  },
  mistral: {
    model: (origin) => createMistral({ baseURL: `${origin}/v1`, apiKey })('mistral-large-latest'),
    wire: completions,
    judge: judgeMistral,
    oddReason: 'error'
  },
  xai: {
    model: (origin) => createXai({ baseURL: `${origin}/v1`, apiKey })('grok-4'),
    wire: responses,
    judge: judgeItems,
    oddReason: 'unforeseen'
  },
  'amazon-bedrock': {
    model: (origin) =>
      createAmazonBedrock({ baseURL: origin, apiKey, region: 'us-east-1' })('anthropic.claude-v2'),
    wire: converse,
    judge: judgeConverse,
    oddReason: 'malformed_tool_use'
  }
}

/** A server that judges each request as its vendor does, and gives the next answer of `said`; a number is a status. */
export async function startVendor(
  t: { teardown(fn: () => unknown): void },
  { judge, wire }: Vendor,
  said: (Said | number)[]
) {
  const refused: string[] = []
  const bodies: object[] = []
  const server = createServer((request, reply) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    request.on('end', () => {
      const body = JSON.parse(text) as object
      bodies.push(body)
      const faults = [...judgeText(body), ...judge(body as never)]
      refused.push(...faults)
      const next = said.shift() ?? { texts: ['Done.'] }
      const status = faults.length > 0 ? 400 : next
      if (typeof status === 'number') {
        reply.writeHead(status, { 'content-type': 'application/json' })
        reply.end(
          JSON.stringify({ error: { message: faults.join('; ') || 'Overloaded', type: 'error', code: null } })
        )
        return
      }
      reply.writeHead(200, { 'content-type': wire.contentType })
      for (const piece of wire.write(status)) reply.write(piece)
      reply.end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { refused, bodies, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}
