import { join } from 'node:path'
import registryPlugin, { createRegistry } from '@svc/registry'
import uiStream from '@svc/ui-stream'
import {
  DefaultChatTransport,
  readUIMessageStream,
  uiMessageChunkSchema,
  type UIMessage,
  type UIMessageChunk
} from 'ai'
import Fastify from 'fastify'
import t from 'tap'
import { Ledger } from '../bench/soak/agents/ledger.ts'
import { answerTo } from '../bench/soak/agents/plan.ts'
import { addPlannedRunnables } from '../bench/soak/agents/planned-runnables.ts'
import { randomJob } from '../bench/soak/agents/random-plan.ts'
import { Random } from '../bench/soak/random.ts'

const RUNS = 60
const PICK = {
  name: 'pick',
  description: 'Picks one',
  input: { type: 'object', properties: { key: { type: 'string' } } }
}

t.setTimeout(300_000)

interface Asking {
  type: string
  state: string
  toolCallId: string
  toolName?: string
  providerExecuted?: boolean
  input: { key?: string; message?: string }
  approval?: { id: string; approved?: boolean }
}

/** A chat message with all that it asks answered, as `addToolApprovalResponse` and `addToolOutput` do. */
function answered(message: UIMessage): UIMessage {
  const parts = (message.parts as unknown as Asking[]).map((part) => {
    if (part.state === 'approval-requested') {
      const { accept } = answerTo(part.input.key!)
      return { ...part, state: 'approval-responded', approval: { ...part.approval, approved: accept } }
    }
    if (part.state !== 'input-available' || part.providerExecuted) return part
    const isQuestion = part.toolName === 'question'
    const callId = isQuestion ? /for (.*)\?/.exec(part.input.message!)![1]! : part.toolCallId
    const { accept, choice } = answerTo(callId)
    if (!accept) return { ...part, state: 'output-error', errorText: 'no' }
    return { ...part, state: 'output-available', output: isQuestion ? { choice } : `picked ${choice}` }
  })
  return { ...message, parts: parts as unknown as UIMessage['parts'] }
}

t.test('random runs of agents, teams and workflows, as the client of the AI SDK sees them', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e9)
  t.comment(`SEED=${seed}`)
  const random = new Random(seed)
  const registry = createRegistry()
  addPlannedRunnables(registry, new Ledger(join(t.testdir(), 'ledger')), 0)
  const app = Fastify({ forceCloseConnections: true })
  await app.register(registryPlugin, { registry })
  await app.register(uiStream, { clientTools: true })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { validate } = uiMessageChunkSchema()
  const counts = { chunks: 0, requests: 0, waits: 0 }

  /** Reads a stream to its end: each chunk fits, and continues the message. */
  async function read(stream: ReadableStream<UIMessageChunk>, message?: UIMessage): Promise<UIMessage> {
    const faults: unknown[] = []
    const checked = stream.pipeThrough(
      new TransformStream<UIMessageChunk, UIMessageChunk>({
        async transform(chunk, controller) {
          counts.chunks++
          const { success } = await validate!(chunk)
          if (!success) faults.push(chunk)
          controller.enqueue(chunk)
        }
      })
    )
    let last = message
    const reading = readUIMessageStream({
      stream: checked,
      onError: (err) => faults.push(err),
      ...(message && { message })
    })
    for await (const each of reading) last = each
    t.same(faults, [])
    return last!
  }

  for (let index = 0; index < RUNS; index++) {
    const { kind, name, plan } = randomJob(random, `chat-${index}`)
    const input = JSON.stringify(plan)
    const api = `${origin}/chat/${kind}/${name}`
    const body = input.includes('"pick"') ? { tools: [PICK] } : {}
    const transport = new DefaultChatTransport({ api, body })
    const chatId = `chat-${index}`
    const question: UIMessage = { id: `m-${index}`, role: 'user', parts: [{ type: 'text', text: input }] }
    const send = (messages: UIMessage[]) => {
      counts.requests++
      const request = { trigger: 'submit-message' as const, messageId: undefined, abortSignal: undefined }
      return transport.sendMessages({ chatId, messages, ...request })
    }
    let message = await read(await send([question]))
    while ((message.metadata as { status: string }).status === 'input-required') {
      counts.waits++
      const given = answered(message)
      message = await read(await send([question, given]), structuredClone(given))
    }

    const { result } = (await app.runs.get(message.id))!
    const last = message.parts.findLastIndex(({ type }) => type === 'step-start')
    const text = message.parts.slice(last + 1).map((part) => (part.type === 'text' ? part.text : ''))
    t.equal(text.join(''), result?.text, `${kind} ${name}`)
    const calls = (message.parts as unknown as (Asking & { output?: unknown })[]).filter(({ type }) =>
      type.startsWith('tool-')
    )
    t.same(
      calls.map(({ type, output }) => [type, output ?? null]),
      result?.toolCalls.map(({ toolName, result: output }) => [`tool-${toolName}`, output ?? null]),
      'the same calls in the same order'
    )
    const whole = await read(await send([question]))
    t.same(plain(whole), plain(message), 'a late reader gets the same message')
    const history = (await (await fetch(`${api}/${chatId}`)).json()) as { messages: UIMessage[] }
    t.same(plain(history.messages.at(-1)!), plain(message), 'so does a page that loads the chat')
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.waits > 0)
})

// Without what the client adds to parts, and what it leaves of its own answers.
function plain({ id, parts }: UIMessage): unknown {
  const json = JSON.parse(JSON.stringify(parts)) as Record<string, unknown>[]
  return [id, json.map(({ rawInput: _, errorText: __, ...part }) => part)]
}
