import type OpenAI from 'openai'
import { readLog } from './read-log.ts'
import { PICK, type Act, type Report, type StartedRun, type Wire, type WireJob } from './wire.ts'

const { input: parameters, ...pick } = PICK
const TOOLS = [{ type: 'function' as const, function: { ...pick, parameters } }]

/** Chat Completions with the client of OpenAI: the reply to the request that has started a run is all that a client sees. */
export class ChatWire implements Wire {
  readonly name = 'Chat Completions'
  readonly keepsTurns = false
  readonly hides = {
    steps: 'the content has the texts of all steps, and none if an error ends it',
    structured: 'the content is its JSON',
    calls: 'only calls of the tools of the client are shown',
    asked: 'the reply waits for what other surfaces answer',
    finishReason: 'a run that took all its steps ends with length'
  }
  readonly #origin: string
  readonly #client: OpenAI

  constructor(origin: string, client: OpenAI) {
    this.#origin = origin
    this.#client = client
  }

  cannot(act: Act): string | undefined {
    return act === 'start' ? undefined : 'a completion is the reply to its own request'
  }

  async start({ kind, name, input, callsClient }: WireJob): Promise<StartedRun> {
    const { data, response } = await this.#client.chat.completions
      .create({
        model: kind === 'agent' ? name : `${kind}/${name}`,
        messages: [{ role: 'user', content: input }],
        stream: true,
        stream_options: { include_usage: true },
        ...(callsClient && { tools: TOOLS })
      })
      .withResponse()
    const runId = response.headers.get('x-run-id')!
    const rest = read(data)
    for await (const part of readLog(this.#origin, runId))
      if (part.type === 'start') return { runId, sessionId: part.sessionId, rest }
    throw new Error('the log has no start')
  }

  watch(): Promise<undefined> {
    return Promise.reject(new Error('not over this wire'))
  }

  answer(): Promise<void> {
    return Promise.reject(new Error('not over this wire'))
  }

  cancel(): Promise<void> {
    return Promise.reject(new Error('not over this wire'))
  }
}

/** Reports a completion; undefined if it ends with calls of the client's tools, or with void text. */
async function read(chunks: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<Partial<Report> | undefined> {
  let text = ''
  let last: OpenAI.ChatCompletionChunk | undefined
  let reason: string | null | undefined
  try {
    for await (const chunk of chunks) {
      last = chunk
      text += chunk.choices[0]?.delta.content ?? ''
      reason = chunk.choices[0]?.finish_reason ?? reason
    }
  } catch (err) {
    const { code } = err as { code?: string }
    if (code === 'stream_restarted') return undefined
    if (code === 'RUN_ERR_CANCELED') return { status: 'canceled' }
    if (code === undefined) throw err
    return { status: 'failed', code }
  }
  if (reason === 'tool_calls') return undefined
  const {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: totalTokens
  } = last!.usage!
  return { status: 'completed', text, usage: { promptTokens, completionTokens, totalTokens } }
}
