import { Value } from '@sinclair/typebox/value'
import type { NumberedPart } from '@svc/registry'
import { RunResultBuilder, RunView } from '@svc/contract'
import { entryFromJson } from '@svc/contract/stores'
import { randomLog } from '@svc/testing'
import { cases } from '@tools/wires/volume'
import { array, assert, asyncProperty, nat, property } from 'fast-check'
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import t from 'tap'
import { CompletionEvents } from '../../src/chat/completion-events.ts'
import { CompletionMessage } from '../../src/chat/completion-message.ts'
import {
  ChunkSchema,
  CompletionSchema,
  type Chunk,
  type Completion
} from '../../src/chat/completion-schemas.ts'
import { CompletionStream } from '../../src/chat/completion-stream.ts'
import { ErrorBodySchema } from '../../src/wire/error-body.ts'

const logs = array(nat(99), { minLength: 60, maxLength: 60 }).map((numbers) => {
  let at = 0
  return randomLog((below) => numbers[at++ % numbers.length]! % below)
})
const options = { numRuns: cases(250) }
const fileUrl = ({ url }: { url?: string | undefined }) => url

/** A completion as both forms of a reply have it. */
interface Reply {
  /** Undefined if the run failed. */
  readonly completion: Completion | undefined
  readonly chunks: readonly Chunk[]
  readonly error: { readonly code: string } | undefined
}

/** The completions of a run, as a client gets them that answers each at once. */
function repliesOf(log: readonly NumberedPart[], isValue = false): Reply[] {
  const replies: Reply[] = []
  const entries = log.map((part) => entryFromJson(part.seq, JSON.stringify(part)))
  // Each request reads the log up to its own completion.
  for (let after = 0; after < log.length;) {
    const [events, streamed] = [0, 1].map(() => {
      const each = new CompletionEvents(fileUrl, isValue)
      for (const part of log.slice(0, after)) each.add(part)
      return each
    }) as [CompletionEvents, CompletionEvents]
    const message = new CompletionMessage()
    const stream = new CompletionStream(streamed, true)
    let text = ''
    do {
      for (const event of events.add(log[after]!)) message.add(event)
      if (!stream.ended) text += Array.from(stream.encode(entries[after]!)).join('')
      after++
    } while (!events.isOver)
    const messages = text.split('\n\n').slice(0, -1)
    if (messages.pop() !== 'data: [DONE]') throw new Error('it does not end')
    const sent = messages.map(
      (each) => JSON.parse(each.slice('data: '.length)) as Chunk | { error: { code: string } }
    )
    const error = sent.find((each) => 'error' in each)
    if (error !== undefined && sent.at(-1) !== error) throw new Error('it goes on after an error')
    replies.push({
      completion: message.build(events),
      chunks: sent.filter((each) => 'choices' in each),
      error: error?.error
    })
    for (const each of sent)
      if (!Value.Check('error' in each ? ErrorBodySchema : ChunkSchema, each))
        throw new Error(`a chunk does not fit: ${JSON.stringify(each)}`)
  }
  return replies
}

/** The completion that the client of OpenAI makes of chunks. */
async function accumulate(chunks: readonly Chunk[]) {
  const lines = chunks.map((chunk) => Buffer.from(`${JSON.stringify(chunk)}\n`))
  return ChatCompletionStream.fromReadableStream(ReadableStream.from(lines)).finalChatCompletion()
}

/** What both forms of a completion have. */
function shown({ id, model, usage, choices: [choice] }: Awaited<ReturnType<typeof accumulate>> | Completion) {
  const { message, finish_reason: reason } = choice!
  const { content, annotations, tool_calls: calls } = message
  return {
    id,
    model,
    usage,
    content: content ?? '',
    annotations: annotations ?? [],
    calls: calls ?? [],
    reason
  }
}

t.test('the client makes of each stream of a random run what JSON has', async (t) => {
  await assert(
    asyncProperty(logs, async (log) => {
      const replies = repliesOf(log)
      for (const { completion, chunks, error } of replies) {
        if (completion !== undefined && !Value.Check(CompletionSchema, completion))
          throw new Error(`it does not fit: ${JSON.stringify(completion)}`)
        same(chunks[0]!.choices[0]!.delta, { role: 'assistant', content: '' }, 'the first chunk')
        if (error !== undefined) continue
        const [theirs, ours] = [await accumulate(chunks), completion!].map(shown)
        same(theirs, ours, 'the client has another completion')
        const reasoning = chunks
          .map(({ choices: [choice] }) => choice?.delta.reasoning_content ?? '')
          .join('')
        if (!wasRepeated(log))
          same(reasoning, completion!.choices[0]!.message.reasoning_content ?? '', 'reasoning')
      }
      const ids = replies.map(({ chunks }) => new Set(chunks.map(({ id }) => id)))
      if (ids.some(({ size }) => size !== 1)) throw new Error('a completion has two ids')
      same(new Set(ids.flatMap((each) => [...each])).size, replies.length, 'completions share an id')
    }),
    options
  )
  t.pass()
})

t.test('the completions of a run have its text, the calls that it waited for, and its end', (t) => {
  let waited = 0
  assert(
    property(logs, (log) => {
      const replies = repliesOf(log)
      const said = replies.map(({ completion }) => completion?.choices[0]!.message.content ?? '').join('')
      const last = log.at(-1)!
      const hasFailed = last.type === 'error' || (last.type === 'finish' && last.finishReason === 'canceled')
      // What a failed run said is not in JSON.
      if (!hasFailed) {
        same(squeezed(said), squeezed(textOf(log)), 'the text')
        const result = new RunResultBuilder()
        for (const part of log) result.add(part)
        if (!squeezed(said).endsWith(squeezed(result.build().text))) throw new Error('the final text')
      }
      const calls = replies.map(({ completion }) => completion?.choices[0]!.message.tool_calls?.length ?? 0)
      same(calls, [...waitsOf(log), 0], 'the calls')
      waited += calls.length - 1
      const code = replies.at(-1)!.error?.code
      const expected = last.type === 'error' ? 'RUN_ERR_FAILED' : hasFailed ? 'RUN_ERR_CANCELED' : undefined
      if (code !== expected && code !== 'stream_restarted') throw new Error(`it ends with ${String(code)}`)
    }),
    options
  )
  t.ok(waited > 0)
  t.end()
})

t.test('a stream ends with an error if, and only if, what it said is void', (t) => {
  let restarted = 0
  assert(
    property(logs, (log) => {
      for (const { completion, chunks, error } of repliesOf(log)) {
        const sent = chunks.map(({ choices: [choice] }) => choice?.delta.content ?? '').join('')
        if (error?.code === 'stream_restarted') restarted++
        else if (completion !== undefined)
          same(sent, completion.choices[0]!.message.content ?? '', 'void text')
      }
      if (!wasRepeated(log) && repliesOf(log).some(({ error }) => error?.code === 'stream_restarted'))
        throw new Error('nothing was void')
    }),
    options
  )
  t.ok(restarted > 0)
  t.end()
})

t.test('of a run that answers with a value nothing is sent before its end', (t) => {
  assert(
    property(logs, (log) => {
      for (const { chunks, error } of repliesOf(log, true)) {
        const contents = chunks.slice(1).flatMap(({ choices: [choice] }) => choice?.delta.content ?? [])
        if (contents.length > 1) throw new Error('it is sent in pieces')
        if (error?.code === 'stream_restarted') throw new Error('it was sent too early')
      }
    }),
    options
  )
  t.end()
})

/** The texts of a run's own steps, without those of void attempts. */
function textOf(log: readonly NumberedPart[]): string {
  const steps: string[] = ['']
  for (const part of log) {
    if (part.source?.length) continue
    if (part.type === 'step.start') {
      if (part.attempt > 1) steps.pop()
      steps.push('')
    }
    if (part.type === 'text') steps.push(steps.pop()! + part.text)
  }
  return steps.join('')
}

/** How many calls of the client a run waits for, each time it waits for nothing else. */
function waitsOf(log: readonly NumberedPart[]): number[] {
  const view = new RunView()
  const waits: number[] = []
  for (const part of log) {
    view.add(part)
    const asked = [...view.pending.values()].filter((each) => 'kind' in each && each.kind === 'tool')
    if (view.isWaiting && asked.length > 0) waits.push(asked.length)
  }
  return waits
}

function wasRepeated(log: readonly NumberedPart[]): boolean {
  return log.some((part) => part.type === 'step.start' && part.attempt > 1 && !part.source?.length)
}

// Passages are separated by line breaks.
function squeezed(text: string): string {
  return text.replaceAll('\n', '')
}

function same(ours: unknown, theirs: unknown, what: string): void {
  const [one, other] = [ours, theirs].map((each) => JSON.stringify(each))
  if (one !== other) throw new Error(`${what}: ${one} is not ${other}`)
}
