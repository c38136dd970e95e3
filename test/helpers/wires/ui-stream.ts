import uiStream from '@svc/ui-stream'
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import { approvalLine, questionLine } from './report-of-log.ts'
import {
  PICK,
  type Asked,
  type Report,
  type ReportedCall,
  type Wire,
  type WireAdapter,
  type WireRun
} from './wire.ts'

/** Chats of the AI SDK, with its transport and its reader of messages. */
export const uiStreamWire: WireAdapter = {
  package: '@svc/ui-stream',
  async register(app, registry) {
    await app.register(uiStream, { registry, clientTools: true })
  },
  connect: async (origin) => [new ChatWire(origin)]
}

interface Metadata {
  runId: string
  sessionId: string
  status: string
  seq: number
  finishReason?: string
  usage?: Report['usage']
  error?: { code: string }
}

/** The fields that parts about tools may have. */
interface ToolPart {
  type: string
  state: string
  toolCallId: string
  toolName?: string
  providerExecuted?: boolean
  input: unknown
  output?: unknown
  errorText?: string
  approval?: { id: string }
}

class ChatWire implements Wire {
  readonly name = 'UI stream'
  readonly hides = {}
  readonly #origin: string

  constructor(origin: string) {
    this.#origin = origin
  }

  async start(job: WireRun['job']) {
    const { id, input, sessionId = `chat-${id}`, callsClient } = job
    const transport = this.#transport(job, callsClient ? { tools: [PICK] } : {})
    const question: UIMessage = { id, role: 'user', parts: [{ type: 'text', text: input }] }
    const stream = await transport.sendMessages({ ...SUBMIT, chatId: sessionId, messages: [question] })
    const begun = Promise.withResolvers<string>()
    const message = readMessage(stream, begun.resolve)
    message.catch(begun.reject)
    const rest = message.then((whole) => (isWaiting(whole) ? undefined : reportOf(whole)))
    return { runId: await begun.promise, sessionId, rest }
  }

  async watch(run: WireRun, isLate: boolean): Promise<Partial<Report> | undefined> {
    const { job, runId, sessionId } = run
    const transport = this.#transport(job)
    while (!isLate) {
      const stream = await transport.reconnectToStream({ chatId: sessionId })
      if (stream === null) break
      const message = await readMessage(stream)
      if (message.id !== runId) throw new Error(`the chat shows the run ${message.id}`)
      if (!isWaiting(message)) return reportOf(message)
      await run.beyond((message.metadata as Metadata).seq)
    }
    // A chat has the turns of its session: runs that failed, or were canceled, have left none.
    const message = (await this.#messages(run)).find(({ id }) => id === runId)
    return message && reportOf(message)
  }

  async answer(run: WireRun, asked: Asked): Promise<void> {
    const messages = await this.#messages(run)
    const message = messages.findLast(({ id }) => id === run.runId)
    if (message === undefined) throw new Error('the chat does not show the run')
    const parts = (message.parts as unknown as ToolPart[]).map((part) => answerPart(part, asked))
    const given = { ...message, parts } as unknown as UIMessage
    const stream = await this.#transport(run.job).sendMessages({
      ...SUBMIT,
      chatId: run.sessionId,
      messages: [...messages.slice(0, -1), given]
    })
    await stream.cancel()
  }

  async cancel({ job, sessionId }: WireRun): Promise<void> {
    const response = await fetch(`${this.#apiOf(job)}/${sessionId}/stream`, { method: 'DELETE' })
    if (response.status !== 204) throw new Error(`canceled with ${response.status}`)
  }

  // A page that loads the chat.
  async #messages({ job, sessionId }: WireRun): Promise<UIMessage[]> {
    const response = await fetch(`${this.#apiOf(job)}/${sessionId}`)
    const { messages } = (await response.json()) as { messages?: UIMessage[] }
    return messages ?? []
  }

  #transport(job: WireRun['job'], body: object = {}): DefaultChatTransport<UIMessage> {
    return new DefaultChatTransport({ api: this.#apiOf(job), body })
  }

  #apiOf({ kind, name }: WireRun['job']): string {
    return `${this.#origin}/chat/${kind}/${name}`
  }
}

const SUBMIT = { trigger: 'submit-message' as const, messageId: undefined, abortSignal: undefined }

function isWaiting({ metadata }: UIMessage): boolean {
  return (metadata as Metadata).status === 'input-required'
}

/** Reads a stream to its end. @param onStart gets the id of the message at its beginning */
async function readMessage(
  stream: ReadableStream<UIMessageChunk>,
  onStart?: (messageId: string) => void
): Promise<UIMessage> {
  let last: UIMessage | undefined
  const errors: unknown[] = []
  for await (const message of readUIMessageStream({ stream, onError: (err) => errors.push(err) })) {
    if (last === undefined) onStart?.(message.id)
    last = message
  }
  if (last === undefined) throw new Error(`a stream without a message: ${String(errors[0])}`)
  // An `error` chunk is reported as an error too.
  const { status } = last.metadata as Metadata
  if (errors.length > (status === 'failed' ? 1 : 0)) throw errors[0]
  if (status === 'working') throw new Error('the stream broke off')
  return last
}

function answerPart(part: ToolPart, { id, kind, toolCallId, accept, content }: Asked): ToolPart {
  if (kind === 'approval') {
    if (part.approval?.id !== id || part.state !== 'approval-requested') return part
    return { ...part, state: 'approval-responded', approval: { ...part.approval, approved: accept } as never }
  }
  if (part.state !== 'input-available' || part.providerExecuted) return part
  if (part.toolCallId !== (kind === 'tool' ? toolCallId : id)) return part
  return accept
    ? { ...part, state: 'output-available', output: content }
    : { ...part, state: 'output-error', errorText: 'no' }
}

function reportOf({ parts, metadata }: UIMessage): Report {
  const { status, finishReason, usage, error } = metadata as Metadata
  const last = parts.findLastIndex(({ type }) => type === 'step-start')
  const text = parts.slice(last + 1).map((part) => (part.type === 'text' ? part.text : ''))
  const structured = parts.find(({ type }) => type === 'data-structured') as { data: unknown } | undefined
  const isVoid = new Set(
    parts.flatMap((part) =>
      part.type === 'data-void' ? (part.data as { toolCallIds: string[] }).toolCallIds : []
    )
  )
  const tools = (parts as unknown as ToolPart[]).filter(
    ({ type, toolCallId }) => (type.startsWith('tool-') || type === 'dynamic-tool') && !isVoid.has(toolCallId)
  )
  return {
    status,
    code: error?.code,
    finishReason,
    usage,
    text: text.join(''),
    structured: status === 'failed' ? undefined : (structured?.data ?? null),
    calls: tools.filter(({ type }) => type !== 'dynamic-tool').map(toCall),
    asked: tools.flatMap(askedLines).toSorted()
  }
}

function toCall({ type, state, input, output, errorText }: ToolPart): ReportedCall {
  const tool = type.slice('tool-'.length)
  if (state === 'output-available') return { tool, args: input, outcome: { result: output } }
  if (state === 'output-denied') return { tool, args: input, outcome: 'denied' }
  return { tool, args: input, outcome: state === 'output-error' ? { error: errorText! } : undefined }
}

function askedLines({ type, toolName, approval, input }: ToolPart): string[] {
  const { message } = input as { message?: string }
  if (type === 'dynamic-tool') return [questionLine(toolName!, message)]
  const name = type.slice('tool-'.length)
  return approval === undefined ? [] : [approvalLine(approval.id, name)]
}
