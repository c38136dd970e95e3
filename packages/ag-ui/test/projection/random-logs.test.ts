import { EventSchemas } from '@ag-ui/core/schemas'
import type { NumberedPart } from '@svc/registry'
import { RunResultBuilder } from '@svc/contract'
import { entryFromJson } from '@svc/contract/stores'
import { encodeEvents } from '@svc/surface'
import { randomLog } from '@svc/testing'
import { Value } from '@sinclair/typebox/value'
import { array, assert, asyncProperty, nat } from 'fast-check'
import t from 'tap'
import { RunEvents } from '../../src/projection/run-events.ts'
import { RunStream } from '../../src/projection/run-stream.ts'
import { AgUiEventSchema, type AgUiEvent, type AgUiEventOf } from '../../src/wire/events.ts'
import { CLIENTS, replay, type ClientName } from '../helpers/replay.ts'

const logs = array(nat(99), { minLength: 60, maxLength: 60 }).map((numbers) => {
  let at = 0
  return randomLog((below) => numbers[at++ % numbers.length]! % below)
})
// Clients copy all messages for each event.
const few = { numRuns: 50 }
const fileUrl = ({ url }: { url?: string | undefined }) => url
const eventsFor = (name: ClientName) => new RunEvents({ fileUrl, isCurrent: name === 'current' })

/** The events of a log; with `pauses`, of a reader whose stream ends wherever the run waits. */
function eventsOf(log: readonly NumberedPart[], name: ClientName, pauses = false): AgUiEvent[] {
  const run = eventsFor(name)
  return log.flatMap((part) => {
    const before = pauses && run.run.isWaiting ? [...run.pause(), ...run.resume()] : []
    return [...before, ...run.add(part)]
  })
}

t.test('each event of a random run is valid, and what clients make of them is the result', async (t) => {
  await assert(
    asyncProperty(logs, async (log) => {
      const result = new RunResultBuilder()
      for (const part of log) result.add(part)
      const { text, toolCalls } = result.build()
      for (const name of Object.keys(CLIENTS) as ClientName[]) {
        const events = eventsOf(log, name)
        for (const event of events) {
          if (name === 'current') EventSchemas.parse(JSON.parse(JSON.stringify(event)))
          if (!Value.Check(AgUiEventSchema, event))
            throw new Error(`not in our schema: ${JSON.stringify(event)}`)
        }
        const { messages, ends } = await replay(name, events)
        if (ends.length !== 1) throw new Error(`${ends.length} ends`)
        const shown = shownBy(messages, events)
        if (shown.text !== text) throw new Error(`text: ${shown.text}, not ${text}`)
        const expected = toolCalls
          .map(({ args, result: output, error }) => [args, error?.message ?? JSON.stringify(output ?? null)])
          .map((call) => JSON.stringify(call))
        if (shown.calls.toSorted().join() !== expected.toSorted().join())
          throw new Error(`calls: ${shown.calls.join()}, not ${expected.join()}`)
      }
    }),
    few
  )
  t.pass()
})

t.test('a stream that ends where the run waits, and continues, is valid, and shows the same', async (t) => {
  await assert(
    asyncProperty(logs, async (log) => {
      for (const name of Object.keys(CLIENTS) as ClientName[]) {
        const [whole, parts] = [eventsOf(log, name), eventsOf(log, name, true)]
        const [once, continued] = [await replay(name, whole), await replay(name, parts)]
        if (JSON.stringify(once.messages) !== JSON.stringify(continued.messages))
          throw new Error(`${JSON.stringify(once.messages)}\n${JSON.stringify(continued.messages)}`)
        const waits = parts.filter(({ type }) => type === 'RUN_FINISHED').length
        if (continued.ends.length < waits) throw new Error('an end is missing')
      }
    }),
    few
  )
  t.pass()
})

t.test('a reader that continues where the run waits gets the rest of the same events', async (t) => {
  await assert(
    asyncProperty(logs, nat(20), async (log, at) => {
      const run = eventsFor('current')
      const waits = log.filter((part) => (run.add(part), run.run.isWaiting)).map(({ seq }) => seq)
      const place = waits[at % (waits.length || 1)] ?? 0
      const read = (after: number) => {
        const events = eventsFor('current')
        for (const part of log.slice(0, after)) events.add(part)
        const head = after > 0 ? encodeEvents(events.resume()) : ''
        const stream = new RunStream(events, { head })
        const texts = log.slice(after).map((part) => {
          const what = stream.encode(entryFromJson(part.seq, JSON.stringify(part)))
          return Array.from(what).join('')
        })
        return { head, texts }
      }
      const [whole, rest] = [read(0).texts.slice(place), read(place)]
      if (whole.map(withoutStarts).join('') !== rest.texts.map(withoutStarts).join(''))
        throw new Error(`${whole.join('')}\n${rest.texts.join('')}`)
      const events = (rest.head + rest.texts.join('')).split('\n\n').filter((line) => line !== '')
      await replay(
        'current',
        events.map((line) => JSON.parse(line.slice('data: '.length)) as AgUiEvent)
      )
    }),
    few
  )
  t.pass()
})

/** What counts of the messages: without void ones, the text since the last step, and the calls with their results. */
function shownBy(messages: Awaited<ReturnType<typeof replay>>['messages'], events: readonly AgUiEvent[]) {
  const customs = events.filter((event): event is AgUiEventOf<'CUSTOM'> => event.type === 'CUSTOM')
  const voided = customs
    .filter(({ name }) => name === 'void')
    .map(({ value }) => value as { messageIds: string[]; toolCallIds: string[] })
  const isVoid = new Set(voided.flatMap(({ messageIds }) => messageIds))
  const isVoidCall = new Set(voided.flatMap(({ toolCallIds }) => toolCallIds))
  const begins = events.findLastIndex((event) => event.type === 'STEP_STARTED' && !event.subagentRunId)
  const ids = new Set(
    events.slice(begins + 1).flatMap((event) => (event.type === 'TEXT_MESSAGE_START' ? event.messageId : []))
  )
  let text = ''
  const calls: string[] = []
  for (const message of messages) {
    if (message.role !== 'assistant') continue
    if (!message.subagentRunId && ids.has(message.id) && !isVoid.has(message.id))
      text += message.content ?? ''
    for (const { id, function: called, metadata } of message.toolCalls ?? []) {
      if (isVoidCall.has(id)) continue
      const result = messages.find((each) => each.role === 'tool' && each.toolCallId === id)
      const edited = (result?.metadata as { args?: unknown } | undefined)?.args
      const args =
        edited ?? (metadata as { args?: unknown } | undefined)?.args ?? JSON.parse(called.arguments)
      calls.push(JSON.stringify([args, result?.content]))
    }
  }
  return { text, calls }
}

// A continued stream has another id, announces members again, and counts its own tokens.
function withoutStarts(text: string): string {
  return text
    .split('\n\n')
    .filter((line) => line !== '' && !line.includes('"SUBAGENT_STARTED"'))
    .map((line) => line.replace(/("type":"RUN_(?:FINISHED|ERROR)".*?)"runId":"[^"]*"/, '$1'))
    .map((line) => line.replace(/"usage":\[.*?\],?/, ''))
    .join('\n')
}
