import type { NumberedPart, Part } from '@svc/registry'
import { RunResultBuilder } from '@svc/contract'
import { entryFromJson } from '@svc/contract/stores'
import { randomLog } from '@svc/testing'
import { cases } from '@tools/wires/volume'
import { readUIMessageStream, uiMessageChunkSchema, type UIMessage, type UIMessageChunk } from 'ai'
import { uiMessageChunkSchema as oldestSchema } from 'ai-of-svelte'
import { array, assert, asyncProperty, nat, property } from 'fast-check'
import t from 'tap'
import { MessageBuilder } from '../../src/messages/build-message.ts'
import { ChatStream } from '../../src/projection/chat-stream.ts'
import { MessageChunks, type ChatView } from '../../src/projection/message-chunks.ts'
import type { UiChunk } from '../../src/wire/chunks.ts'

const logs = array(nat(99), { minLength: 60, maxLength: 60 }).map((numbers) => {
  let at = 0
  return randomLog((below) => numbers[at++ % numbers.length]! % below)
})
const options = { numRuns: cases(300) }
const fileUrl = ({ url }: { url?: string | undefined }) => url
const view = { fileUrl, steeringMessages: false }

function chunksOf(log: readonly NumberedPart[], shown: ChatView = view): UiChunk[] {
  const chunks = new MessageChunks(shown)
  return log.flatMap((part) => chunks.add(part))
}

/** A log in which messages join the run after some of its parts, each with its place as its id. */
function joinAt(log: readonly NumberedPart[], places: readonly number[]): NumberedPart[] {
  const joined: NumberedPart[] = []
  const add = (part: Part) => joined.push({ ...part, seq: joined.length + 1, at: 0 })
  log.forEach((part, index) => {
    const isLast = index === log.length - 1
    add(part)
    for (const place of places)
      if (place % log.length === index && !isLast) {
        const steerId = String(joined.length + 1)
        add({ type: 'data', name: 'steer', value: { steerId, message: 'So' } })
      }
  })
  return joined
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

t.test(
  'messages that join a run come before its steps, and the client makes our message of them',
  async (t) => {
    const newest = uiMessageChunkSchema()
    await assert(
      asyncProperty(logs, array(nat(60), { maxLength: 4 }), async (log, places) => {
        const joined = joinAt(log, places)
        const chunks = chunksOf(joined, { fileUrl, steeringMessages: true })
        for (const chunk of chunks) {
          const { success } = await newest.validate!(JSON.parse(JSON.stringify(chunk)))
          if (!success) throw new Error(`a chunk does not fit: ${JSON.stringify(chunk)}`)
        }
        const steers = chunks.flatMap((chunk) => (chunk.type === 'steering-message' ? [chunk.id] : []))
        const expected = joined.flatMap((part) =>
          part.type === 'data' && part.name === 'steer' ? [part.seq] : []
        )
        if (steers.join() !== expected.join()) throw new Error(`${steers.join()}, not ${expected.join()}`)
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
        const stream = new ChatStream(new MessageChunks(view), { after })
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
