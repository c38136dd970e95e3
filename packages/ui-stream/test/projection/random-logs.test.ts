import type { NumberedPart, Part, PartOf } from '@svc/registry'
import { RunResultBuilder } from '@svc/registry/kit'
import { readUIMessageStream, uiMessageChunkSchema, type UIMessage, type UIMessageChunk } from 'ai'
import { uiMessageChunkSchema as oldestSchema } from 'ai-of-svelte'
import { array, assert, asyncProperty, nat, property } from 'fast-check'
import t from 'tap'
import { MessageBuilder } from '../../src/messages/build-message.ts'
import { ChatStream } from '../../src/projection/chat-stream.ts'
import { MessageChunks } from '../../src/projection/message-chunks.ts'
import type { UiChunk } from '../../src/wire/chunks.ts'
import { entryFromJson } from '@svc/registry/store-kit'

const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 }
const expiresAt = '2026-01-01T00:00:00.000Z'
type Choose = (below: number) => number

/** The log of a random run of an agent with members: steps that are repeated, calls of every kind, answers, files, sources and data. */
function randomLog(choose: Choose): NumberedPart[] {
  const parts: Part[] = [{ type: 'start', runId: 'r', sessionId: 's', kind: 'agent', name: 'a', input: 'Hi' }]
  const chance = (percent: number) => choose(100) < percent
  let inputs = 0
  const place = (source: string[]) => (source.length > 0 ? { source: [...source] } : {})

  const say = (source: string[]) => {
    for (let count = choose(4); count > 0; count--) {
      const text = ['', 'a ', 'b\n', '"c" ', 'd'][choose(5)]!
      parts.push({ type: chance(70) ? 'text' : 'reasoning', text, ...place(source) })
      if (chance(15)) parts.push({ type: 'citation', url: 'https://example.com', ...place(source) })
      if (chance(10)) parts.push({ type: 'data', name: 'chart', value: choose(9), ...place(source) })
      if (chance(10))
        parts.push({ type: 'file', url: 'https://example.com/f', mimeType: 'image/png', ...place(source) })
    }
  }
  const askFor = (toolCallId: string, source: string[]): boolean => {
    const id = `r.${++inputs}`
    const call = { toolCallId, toolName: 'act', ...place(source) }
    parts.push({ type: 'tool.approval.request', approvalId: id, args: {}, expiresAt, ...call })
    const approved = chance(70)
    const edited = approved && chance(30) && { args: { edited: true } }
    parts.push({
      type: 'tool.approval.response',
      approvalId: id,
      toolCallId,
      approved,
      ...edited,
      ...place(source)
    })
    return approved
  }
  const question = (toolCallId: string, source: string[]) => {
    const inputId = `r.${++inputs}`
    const kind = chance(80) ? 'question' : 'auth'
    parts.push({
      type: 'input.request',
      inputId,
      kind,
      message: '?',
      toolCallId,
      expiresAt,
      ...place(source)
    })
    const content = kind === 'question' && { content: 'yes' }
    if (chance(70))
      parts.push({ type: 'input.response', inputId, action: 'accept', ...content, ...place(source) })
    else parts.push({ type: 'input.response', inputId, action: 'decline', ...place(source) })
  }
  const outcome = (call: PartOf<'tool.call'>, source: string[]): void => {
    const { toolCallId, toolName } = call
    const about = { toolCallId, toolName, ...place(source) }
    if (call.runsAt === 'client') {
      const inputId = `r.${++inputs}`
      parts.push({ type: 'input.request', inputId, kind: 'tool', args: {}, expiresAt, ...about })
      parts.push({ type: 'input.response', inputId, action: 'accept', ...place(source) })
    } else if (call.providerExecuted !== true && chance(25) && !askFor(toolCallId, source)) {
      const error = { code: 'RUN_ERR_APPROVAL_DENIED', message: 'no' }
      parts.push({ type: 'tool.error', error, ...about })
      return
    } else if (chance(15)) question(toolCallId, source)
    if (chance(80)) parts.push({ type: 'tool.result', result: choose(9), durationMs: 1, ...about })
    else parts.push({ type: 'tool.error', error: { code: 'RUN_ERR_TOOL_FAILED', message: 'off' }, ...about })
  }
  const step = (index: number, source: string[]) => {
    for (let attempt = 1; ; attempt++) {
      parts.push({ type: 'step.start', index, attempt, ...place(source) })
      say(source)
      // Providers may use the same ids in each step.
      const calls = Array.from({ length: choose(3) }, (_, at): PartOf<'tool.call'> => {
        const about = { toolCallId: `call-${at}`, toolName: 'act', ...place(source) }
        if (chance(30)) parts.push({ type: 'tool.call.delta', delta: '{"a', ...about })
        if (chance(20)) parts.push({ type: 'tool.call.delta', delta: '":1}', ...about })
        const runsAt = chance(20) && { runsAt: 'client' as const }
        const executed = !runsAt && chance(10) && { providerExecuted: true as const }
        const call: PartOf<'tool.call'> = {
          type: 'tool.call',
          args: { a: 1 },
          ...about,
          ...runsAt,
          ...executed
        }
        parts.push(call)
        return call
      })
      // The attempt is void: a crash.
      if (attempt < 3 && chance(15)) {
        // What a member does meanwhile is not.
        if (source.length === 0 && chance(50)) member(['ada'])
        continue
      }
      parts.push({ type: 'step', index, usage, ...place(source) })
      for (const call of calls) {
        if (source.length < 2 && chance(20)) member([...source, ['ada', 'bob'][choose(2)]!])
        outcome(call, source)
      }
      return
    }
  }
  const member = (source: string[]) => {
    for (let index = 0, count = 1 + choose(2); index < count; index++) step(index, source)
    if (chance(20)) parts.push({ type: 'structured', value: { by: source }, ...place(source) })
    parts.push({ type: 'finish', finishReason: 'stop', usage, durationMs: 1, structured: null, source })
  }

  for (let index = 0, count = choose(4); index < count; index++) step(index, [])
  if (chance(50)) say([])
  if (chance(20)) parts.push({ type: 'structured', value: { ok: true } })
  if (chance(15))
    parts.push({ type: 'error', error: { code: 'RUN_ERR_FAILED', message: 'off', retryable: false } })
  else {
    const finishReason = (['stop', 'length', 'max-steps', 'canceled'] as const)[choose(4)]!
    parts.push({ type: 'finish', finishReason, usage, durationMs: 1, structured: null })
  }
  return parts.map((part, index) => ({ ...part, seq: index + 1, at: index }))
}

const logs = array(nat(99), { minLength: 60, maxLength: 60 }).map((numbers) => {
  let at = 0
  return randomLog((below) => numbers[at++ % numbers.length]! % below)
})
const options = { numRuns: 300 }
const fileUrl = ({ url }: { url?: string | undefined }) => url

function chunksOf(log: readonly NumberedPart[]): UiChunk[] {
  const chunks = new MessageChunks(fileUrl)
  return log.flatMap((part) => chunks.add(part))
}

/** The message that the client of the AI SDK makes of a stream. */
async function messageOf(chunks: readonly UiChunk[]): Promise<UIMessage> {
  const stream = ReadableStream.from<UIMessageChunk>(structuredClone(chunks) as UIMessageChunk[])
  const faults: unknown[] = []
  let last: UIMessage | undefined
  for await (const message of readUIMessageStream({ stream, onError: (err) => faults.push(err) }))
    last = message
  // An `error` chunk is reported; anything else is a fault of the stream.
  const errors = chunks.filter(({ type }) => type === 'error').length
  if (faults.length > errors) throw faults.at(-1)
  return last!
}

t.test(
  'each chunk of a random run fits the schema of the AI SDK, and its client makes our message of them',
  async (t) => {
    const schemas = [uiMessageChunkSchema(), oldestSchema()]
    await assert(
      asyncProperty(logs, async (log) => {
        const chunks = chunksOf(log)
        for (const chunk of chunks)
          for (const { validate } of schemas) {
            const { success } = await validate!(JSON.parse(JSON.stringify(chunk)))
            if (!success) throw new Error(`a chunk does not fit: ${JSON.stringify(chunk)}`)
          }
        const builder = new MessageBuilder()
        for (const chunk of chunks) builder.add(chunk)
        const [ours, theirs] = [builder.build(), await messageOf(chunks)].map(normal)
        if (ours !== theirs) throw new Error(`ours:\n${ours}\ntheirs:\n${theirs}`)
      }),
      options
    )
    t.pass()
  }
)

t.test('the message has the text and the tool calls of the result, without void ones', async (t) => {
  await assert(
    asyncProperty(logs, async (log) => {
      const result = new RunResultBuilder()
      for (const part of log) result.add(part)
      const { text, toolCalls } = result.build()
      const { parts } = await messageOf(chunksOf(log))
      const last = parts.findLastIndex(({ type }) => type === 'step-start')
      const shown = parts.slice(last + 1).map((part) => (part.type === 'text' ? part.text : ''))
      if (shown.join('') !== text) throw new Error(`text: ${shown.join('')}, not ${text}`)

      const isVoid = new Set(
        parts.flatMap((part) =>
          part.type === 'data-void' ? (part.data as { toolCallIds: string[] }).toolCallIds : []
        )
      )
      const calls = (parts as unknown as ToolPart[]).filter(
        ({ type, toolCallId }) => type.startsWith('tool-') && !isVoid.has(toolCallId)
      )
      const ids = calls.map(({ toolCallId }) => toolCallId)
      if (new Set(ids).size !== ids.length) throw new Error(`an id is used twice: ${ids.join()}`)
      const [ours, theirs] = [
        calls.map(({ toolMetadata, input, output, state }) => [
          toolMetadata?.source ?? [],
          input,
          output ?? null,
          state.startsWith('output-') && state !== 'output-available'
        ]),
        toolCalls.map(({ source = [], args, result: output, error }) => [
          source,
          args,
          output ?? null,
          error !== undefined
        ])
      ].map((each) => JSON.stringify(sorted(each)))
      if (ours !== theirs) throw new Error(`calls: ${ours}, not ${theirs}`)
    }),
    options
  )
  t.pass()
})

t.test('a reader that begins anywhere gets the rest of the same stream', async (t) => {
  assert(
    property(logs, nat(200), (log, at) => {
      const entries = log.map((part) => entryFromJson(part.seq, JSON.stringify(part)))
      const read = (after: number) => {
        const stream = new ChatStream(new MessageChunks(fileUrl), { after })
        return entries.map((entry) => Array.from(stream.encode(entry)).join(''))
      }
      const [whole, after] = [read(0), at % log.length]
      const rest = read(after)
      if (rest.slice(0, after).join('') !== '') throw new Error('it begins too early')
      if (rest.slice(after).join('') !== whole.slice(after).join('')) throw new Error('it differs')
    }),
    options
  )
  t.pass()
})

interface ToolPart {
  type: string
  toolCallId: string
  state: string
  input: unknown
  output?: unknown
  toolMetadata?: { source?: string[] }
}

function sorted(values: unknown[]): string[] {
  return values.map((value) => JSON.stringify(value)).toSorted()
}

// The client keeps what its own states have no use for, and undefined fields.
function normal(message: unknown): string {
  const { id, role, metadata, parts } = JSON.parse(JSON.stringify(message)) as {
    id: string
    role: string
    metadata?: object
    parts: Record<string, unknown>[]
  }
  const plain = parts.map(({ rawInput: _, errorText, input, ...part }) => {
    const shown = part['state'] === 'input-streaming' ? {} : { input: input ?? null }
    const fields = {
      ...part,
      ...('state' in part && 'toolCallId' in part && shown),
      ...(part['state'] === 'output-error' && { errorText })
    }
    return Object.fromEntries(Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
  return JSON.stringify({ id, role, metadata, parts: plain }, null, 1)
}
