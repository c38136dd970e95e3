import openAi from '@svc/openai'
import openAiAgents from '@svc/openai/agents'
import type { Awaitable } from '@svc/contract'
import OpenAI from 'openai'
import type {
  Response,
  ResponseCreateParamsStreaming,
  ResponseInputItem,
  ResponseOutputItem
} from 'openai/resources/responses/responses'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { answerTo } from '../../../bench/soak/agents/plan.ts'
import { AgentsWire } from './openai-agents.ts'
import { ChatWire } from './openai-chat.ts'
import { approvalLine, outcomeOfError, questionLine } from './report-of-log.ts'
import { askedIn, firstResponse, responsesOf, type AskedItem } from './response-chain.ts'
import {
  PICK,
  type Asked,
  type Report,
  type ReportedCall,
  type StartedRun,
  type Wire,
  type WireAdapter,
  type WireJob,
  type WireRun
} from './wire.ts'

/** The Responses API, Chat Completions and the Agents API with the client of OpenAI. */
export const openAiWires: WireAdapter = {
  package: '@svc/openai',
  async register(app, registry) {
    await app.register(openAi, { prefix: '/v1', registry, clientTools: true })
    await app.register(openAiAgents, { prefix: '/v1', registry, clientTools: true })
  },
  async connect(origin) {
    const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'none', maxRetries: 0 })
    return [
      new ResponsesWire('Responses', client, (asked) =>
        client.responses.create({ ...asked, background: true, stream: true })
      ),
      new ResponsesWire('Responses over a WebSocket', client, (asked) => overSocket(client, asked)),
      new ChatWire(origin, client),
      new AgentsWire(client)
    ]
  }
}

const { input: parameters, ...pick } = PICK
const TOOLS = [{ type: 'function' as const, ...pick, parameters, strict: false }]
const REASONS: Readonly<Record<string, string>> = {
  max_output_tokens: 'length',
  content_filter: 'content-filter',
  max_messages: 'max-steps'
}

type AskedResponse = Omit<ResponseCreateParamsStreaming, 'stream'>
type Begin = (asked: AskedResponse) => Awaitable<AsyncIterable<object>>

/** The events of a response over a connection of its own. */
async function* overSocket(client: OpenAI, asked: AskedResponse): AsyncGenerator<object> {
  const socket = new ResponsesWS(client)
  try {
    socket.send({ ...asked, type: 'response.create' })
    for await (const next of socket.stream()) {
      if (next.type === 'error') throw next.error
      if (next.type !== 'message') continue
      yield next.message
      if (['response.completed', 'response.incomplete', 'response.failed'].includes(next.message.type)) return
    }
  } finally {
    socket.close()
  }
}

class ResponsesWire implements Wire {
  readonly name: string
  readonly answersByPlan = true
  readonly hides = {
    order: 'a call of the service stands where it ends, if it waits for an answer',
    unendedCalls: 'a call of the service stands where it ends, and this one has not',
    resultTypes: 'outputs are texts',
    structured: 'the text is its JSON'
  }
  readonly #client: OpenAI
  readonly #begin: Begin

  constructor(name: string, client: OpenAI, begin: Begin) {
    this.name = name
    this.#client = client
    this.#begin = begin
  }

  async start(job: WireJob): Promise<StartedRun> {
    const { id, input, sessionId = `conversation-${id}`, callsClient } = job
    const events = await this.#begin({
      model: modelOf(job),
      input,
      conversation: sessionId,
      ...(callsClient && { tools: TOOLS })
    })
    const begun = Promise.withResolvers<string>()
    const read = async () => {
      for await (const event of events)
        if ('response' in event) begun.resolve((event as { response: Response }).response.id)
      return undefined
    }
    const rest = read()
    rest.catch(begun.reject)
    return { runId: (await begun.promise).slice(firstResponse('').length), sessionId, rest }
  }

  async watch(run: WireRun): Promise<Partial<Report>> {
    const responses: Response[] = []
    for await (const response of responsesOf(this.#client, run)) responses.push(response)
    const items = responses.flatMap(({ output }) => output)
    // What is answered while other calls are still at work continues the response that has asked for it.
    const inputs = await Promise.all(
      responses.map(async ({ id }) => (await this.#client.responses.inputItems.list(id)).data)
    )
    return reportOf(responses.at(-1)!, responses, items, inputs.flat() as ResponseInputItem[], run)
  }

  // A request answers all that its response has asked for.
  async answer(run: WireRun, asked: Asked): Promise<void> {
    for await (const { id, output } of responsesOf(this.#client, run)) {
      const items = askedIn(output)
      const isMeant = (item: AskedItem) =>
        item.id === asked.id || (asked.kind === 'tool' && item.id === asked.toolCallId)
      if (!items.some(isMeant)) continue
      await this.#client.responses.create({
        model: modelOf(run.job),
        previous_response_id: id,
        background: true,
        tools: TOOLS,
        input: items.map(toAnswer)
      })
      return
    }
  }

  async cancel({ runId }: WireRun): Promise<void> {
    await this.#client.responses.cancel(firstResponse(runId))
  }
}

function modelOf({ kind, name }: WireJob): string {
  return kind === 'agent' ? name : `${kind}/${name}`
}

function toAnswer({ kind, id, args }: AskedItem): ResponseInputItem {
  if (kind === 'approval')
    return { type: 'mcp_approval_response', approval_request_id: id, approve: answerTo(args.key!).accept }
  const { accept, choice } = answerTo(kind === 'tool' ? args.key! : /for (.*)\?/.exec(args.message!)![1]!)
  const output = kind === 'tool' ? `picked ${choice}` : JSON.stringify({ choice })
  return {
    type: 'function_call_output',
    call_id: id,
    output,
    ...(!accept && { status: 'incomplete' as const })
  }
}

function reportOf(
  last: Response,
  responses: readonly Response[],
  items: readonly ResponseOutputItem[],
  inputs: readonly ResponseInputItem[],
  run: WireRun
): Partial<Report> {
  const { status, error, incomplete_details: incomplete } = last
  const sum = (field: 'input_tokens' | 'output_tokens' | 'total_tokens') =>
    responses.reduce((total, { usage }) => total + (usage?.[field] ?? 0), 0)
  const common = {
    text: textOf(items, run.progress().lastStep),
    calls: callsOf(items, inputs),
    asked: items.flatMap(askedLines).toSorted()
  }
  if (status === 'failed') return { status, code: error?.code, ...common }
  const isCanceled = status === 'cancelled'
  const reason = REASONS[incomplete?.reason ?? ''] ?? 'stop'
  return {
    status: isCanceled ? 'canceled' : 'completed',
    finishReason: isCanceled ? 'canceled' : reason,
    ...common,
    usage: {
      promptTokens: sum('input_tokens'),
      completionTokens: sum('output_tokens'),
      totalTokens: sum('total_tokens')
    }
  }
}

// The id of a message has the place in the log at which it begins.
function textOf(items: readonly ResponseOutputItem[], lastStep: number): string {
  return items
    .flatMap((item) =>
      item.type === 'message' && Number(item.id.split('_').at(-1)) > lastStep ? item.content : []
    )
    .map((content) => (content.type === 'output_text' ? content.text : ''))
    .join('')
}

function callsOf(items: readonly ResponseOutputItem[], inputs: readonly ResponseInputItem[]): ReportedCall[] {
  const outputs = new Map(
    inputs.flatMap((item) =>
      item.type === 'function_call_output' ? [[item.call_id, item.output as string]] : []
    )
  )
  return items.flatMap((item) => {
    if (item.type !== 'function_call' && item.type !== 'mcp_call') return []
    if (item.status === 'incomplete' || item.name === 'question') return []
    const args = JSON.parse(item.arguments) as unknown
    const outcome = item.type === 'mcp_call' ? servedOutcome(item) : toOutcome(outputs.get(item.call_id))
    return [{ tool: item.name, args, outcome }]
  })
}

function servedOutcome({
  output,
  error
}: {
  output?: string | null
  error?: unknown
}): ReportedCall['outcome'] {
  if (typeof output === 'string') return { result: output }
  const [, code = '', message = ''] = /^(\w+): (.*)$/s.exec(String(error)) ?? []
  return outcomeOfError({ code, message })
}

function toOutcome(output: string | undefined): ReportedCall['outcome'] {
  if (output === undefined) return undefined
  if (!output.startsWith('{"error":')) return { result: output }
  return outcomeOfError((JSON.parse(output) as { error: { code: string; message: string } }).error)
}

function askedLines(item: ResponseOutputItem): string[] {
  if (item.type === 'mcp_approval_request') return [approvalLine(item.id, item.name)]
  if (item.type !== 'function_call' || item.name !== 'question') return []
  return [questionLine('question', (JSON.parse(item.arguments) as { message: string }).message)]
}
