import { join } from 'node:path'
import { FormatRegistry } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { RunResultBuilder } from '@svc/contract'
import type { NumberedPart } from '@svc/registry'
import { randomLog } from '@svc/testing'
import { findTypeFaults } from '@tools/wires/sdk-types'
import { array, assert, nat, property, sample } from 'fast-check'
import t from 'tap'
import { RunEvents } from '../../src/projection/run-events.ts'
import { showTo, type ShownEvent } from '../../src/projection/shown-event.ts'
import { StreamEventSchema, type SessionEvent, type StreamEvent } from '../../src/wire/events.ts'

const logs = array(nat(99), { minLength: 60, maxLength: 60 }).map((numbers) => {
  let at = 0
  return randomLog((below) => numbers[at++ % numbers.length]! % below)
})
const few = { numRuns: 300, includeErrorInReport: true }
FormatRegistry.Set('date-time', (value) => !Number.isNaN(Date.parse(value)))

function eventsOf(log: readonly NumberedPart[]): ShownEvent[] {
  const run = new RunEvents()
  return log.flatMap((part) => run.add(part))
}

const isKept = (event: StreamEvent): event is SessionEvent => 'id' in event
const textOf = ({ content = [] }: { content?: readonly { type: string; text?: string }[] }) =>
  content.map(({ text }) => text).join('')

t.test('increments that continue a text are the same events in short', (t) => {
  let continued = 0
  assert(
    property(logs, (log) => {
      const [whole, short] = [new RunEvents(), new RunEvents()]
      for (const part of log) {
        const made = whole.add(part).map(({ event }) => JSON.stringify(event))
        const isText = part.type === 'text' && !part.source?.length
        const json = isText ? short.continueText(part, JSON.stringify(part.text)) : undefined
        if (json !== undefined) continued++
        const shown = json === undefined ? short.add(part).map(({ event }) => JSON.stringify(event)) : [json]
        if (made.join('\n') !== shown.join('\n')) throw new Error(`${shown.join()}, not ${made.join()}`)
      }
    }),
    few
  )
  t.ok(continued > 10, `${continued} texts were continued`)
  t.end()
})

t.test('each event of a random run is valid, and what they show is the result', (t) => {
  assert(
    property(logs, (log) => {
      const result = new RunResultBuilder()
      for (const part of log) result.add(part)
      const { text, toolCalls } = result.build()
      const shown = eventsOf(log)
      for (const { event } of shown)
        if (!Value.Check(StreamEventSchema, event)) throw new Error(`not valid: ${JSON.stringify(event)}`)
      const all = shown.map(({ event }) => event).filter(isKept)
      const own = shown.flatMap((each) => showTo(each, undefined) ?? []).filter(isKept)
      if (new Set(all.map(({ id }) => id)).size !== all.length) throw new Error('an id twice')

      const lastStep = own.findLastIndex(({ type }) => type === 'span.model_request_start')
      const said = own
        .slice(lastStep + 1)
        .flatMap((event) => (event.type === 'agent.message' ? textOf(event) : []))
      const value = log.findLast((part) => part.type === 'structured' && part.source === undefined)
      const wanted = text === '' && value !== undefined && said.length > 0 ? '{"ok":true}' : text
      if (said.join('') !== wanted) throw new Error(`text: ${said.join('')}, not ${wanted}`)

      const ends = new Map<string, string>()
      for (const event of all) {
        if (event.type === 'agent.tool_result') ends.set(event.tool_use_id, textOf(event as never))
        if (event.type === 'user.custom_tool_result')
          ends.set(event.custom_tool_use_id, textOf(event as never))
      }
      const calls = all.flatMap((event) =>
        (event.type === 'agent.tool_use' || event.type === 'agent.custom_tool_use') && event.name === 'act'
          ? `${JSON.stringify(event.input)} ${ends.get(event.id)}`
          : []
      )
      const made = toolCalls.map(
        ({ args, result: output, error }) =>
          `${JSON.stringify(args)} ${error ? `${error.code}: ${error.message}` : JSON.stringify(output ?? null)}`
      )
      const isEdited = made.some((call) => call.includes('edited'))
      if (!isEdited && calls.toSorted().join() !== made.toSorted().join())
        throw new Error(`calls: ${calls.join()}, not ${made.join()}`)
    }),
    few
  )
  t.end()
})

t.test('a session is idle once at the end, after its messages, and names what can be answered', (t) => {
  assert(
    property(logs, (log) => {
      const all = eventsOf(log)
      const own = all.flatMap((each) => showTo(each, undefined) ?? [])
      const last = own.at(-1)!
      if (last.type !== 'session.status_idle' || last.stop_reason.type === 'requires_action')
        throw new Error(`the end is ${JSON.stringify(last)}`)
      const uses = new Set(
        all.flatMap(({ event }) => (isKept(event) && event.type.endsWith('tool_use') ? event.id : []))
      )
      const answered = new Set<string>()
      let isIdle = true
      for (const event of own) {
        if (event.type === 'user.tool_confirmation') answered.add(event.tool_use_id)
        if (event.type === 'user.custom_tool_result') answered.add(event.custom_tool_use_id)
        if (event.type === 'session.status_running') {
          if (!isIdle) throw new Error('running twice')
          isIdle = false
        }
        if (event.type !== 'session.status_idle') continue
        isIdle = true
        const { stop_reason: reason } = event
        if (reason.type !== 'requires_action') continue
        if (reason.event_ids.length === 0) throw new Error('nothing is asked')
        for (const id of reason.event_ids)
          if (!uses.has(id) || answered.has(id)) throw new Error(`${id} cannot be answered`)
      }
    }),
    few
  )
  t.end()
})

t.test('a preview has the text of its event, or its model request ended without one', (t) => {
  assert(
    property(logs, (log) => {
      const texts = new Map<string, string>()
      const all = eventsOf(log)
      for (const { event } of all) {
        if (event.type === 'event_start') texts.set(event.event.id, '')
        if (event.type === 'event_delta')
          texts.set(event.event_id, texts.get(event.event_id)! + event.delta.content.text)
        if (event.type !== 'agent.message' && event.type !== 'agent.thinking') continue
        const text = texts.get(event.id)
        // A value that is no text has no preview.
        if (text === undefined && event.type === 'agent.message' && textOf(event).startsWith('{')) continue
        if (text === undefined) throw new Error(`${event.id} has no preview`)
        if (event.type === 'agent.message' && text !== textOf(event))
          throw new Error(`${text} is not the text`)
        texts.delete(event.id)
      }
      const isRepeated = log.some((part) => part.type === 'step.start' && part.attempt > 1)
      if (texts.size > 0 && !isRepeated)
        throw new Error(`previews without an event: ${[...texts.keys()].join()}`)
    }),
    few
  )
  t.end()
})

t.test('threads have their own events, and the session those of members that its user needs', (t) => {
  assert(
    property(logs, (log) => {
      const run = new RunEvents()
      const all = log.flatMap((part) => run.add(part))
      const ofThreads = run.threads.map(({ id }) => all.flatMap((each) => showTo(each, id) ?? []))
      for (const events of ofThreads)
        if (events.at(-1)?.type !== 'session.thread_status_idle') throw new Error('a thread has no end')
      const own = all.flatMap((each) => showTo(each, undefined) ?? [])
      const created = own.filter(({ type }) => type === 'session.thread_created').length
      if (created !== run.threads.length) throw new Error(`${created} of ${run.threads.length} threads`)
      for (const { event, thread } of all)
        if (thread !== undefined && event.type === 'agent.message' && own.includes(event))
          throw new Error('what a member says is not said by the agent')
    }),
    few
  )
  t.end()
})

t.test('each event fits the types of the SDK', async (t) => {
  const events = sample(logs, 200).flatMap((log) => eventsOf(log).map(({ event }) => event))
  const shared = sample(logs, 50).flatMap((log) =>
    eventsOf(log).flatMap((each) => showTo(each, undefined) ?? [])
  )
  const type = 'BetaManagedAgentsStreamSessionEvents'
  const imports = [`import type { ${type} } from '@anthropic-ai/sdk/resources/beta/sessions/events'`]
  const file = join(t.testdir(), 'events.ts')
  const all = JSON.parse(JSON.stringify([...events, ...shared])) as object[]
  t.equal(await findTypeFaults({ [type]: all }, imports, file), '')
  const types = new Set(events.map((event) => event.type))
  t.ok(types.size >= 18, `${types.size} of the types of events occur`)
  const wrong = await findTypeFaults({ [type]: [{ ...all[0], more: 1 }] }, imports, file)
  t.match(wrong, /more/, 'a field that the type does not have is found')
})
