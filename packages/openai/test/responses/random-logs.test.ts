import type { ResponseEvent, ResponseObject } from '@svc/openai'
import type { NumberedPart } from '@svc/registry'
import { RunResultBuilder } from '@svc/contract'
import { entryFromJson } from '@svc/contract/stores'
import { randomLog } from '@svc/testing'
import { array, assert, asyncProperty, nat, property } from 'fast-check'
import { ResponseStream as ClientStream } from 'openai/lib/responses/ResponseStream'
import type { Response } from 'openai/resources/responses/responses'
import t from 'tap'
import { ResponseBuilder } from '../../src/responses/response-builder.ts'
import { ResponseStream } from '../../src/responses/response-stream.ts'
import { checkItemStates } from '../helpers/item-states.ts'
import { findEventFault } from '../helpers/open-responses.ts'

const logs = array(nat(99), { minLength: 60, maxLength: 60 }).map((numbers) => {
  let at = 0
  return randomLog((below) => numbers[at++ % numbers.length]! % below)
})
const options = { numRuns: 60 }
const ASKING = new Set(['question', 'auth'])
const view = {
  fileUrl: ({ url }: { url?: string | undefined }) => url,
  toolCalls: 'mcp_call'
} as const

/** The events of the responses of a run, by their ids. */
function responsesOf(log: readonly NumberedPart[]): Map<string, ResponseEvent[]> {
  const builder = new ResponseBuilder(view)
  const responses = new Map<string, ResponseEvent[]>()
  for (const part of log) {
    const added = builder.add(part)
    const first = builder.sequence - added.length
    const events = plain(added.map((event, at) => builder.toEvent(event, first + at)))
    responses.set(builder.id, [...(responses.get(builder.id) ?? []), ...events])
  }
  return responses
}

/** The response that the client of OpenAI makes of events. */
async function accumulate(events: readonly ResponseEvent[]): Promise<Response> {
  const lines = events.map((event) => Buffer.from(`${JSON.stringify(event)}\n`))
  return ClientStream.fromReadableStream(ReadableStream.from(lines)).finalResponse()
}

t.test(
  'each event of random runs fits its component, items are state machines, and the client agrees',
  async (t) => {
    await assert(
      asyncProperty(logs, async (log) => {
        for (const events of responsesOf(log).values()) {
          for (const event of events) {
            const fault = findEventFault(event)
            if (fault !== undefined) throw new Error(fault)
          }
          checkItemStates(events)
          const { output } = lastOf(events)
          same(withoutParsed((await accumulate(events)).output), output, 'the last event counts')
          const ids = new Set(output.map(({ id }) => id))
          const told = (await accumulate(events.slice(0, -1))).output.filter(({ id }) => ids.has(id!))
          same(withoutParsed(told), output, 'the events before it tell the same')
        }
      }),
      options
    )
    t.pass()
  }
)

t.test('the responses have the text and the tool calls of the result, without void ones', async (t) => {
  assert(
    property(logs, (log) => {
      const result = new RunResultBuilder()
      for (const part of log) result.add(part)
      const { text, toolCalls } = result.build()
      const responses = Array.from(responsesOf(log).values(), lastOf)
      const items = responses.flatMap(({ output }) => output)
      const step = log.findLast(({ type, source }) => type === 'step.start' && !source)?.seq ?? 0
      const said = items.flatMap((item) =>
        item.type === 'message' && Number(item.id.split('_').at(-1)) > step ? item.content : []
      )
      same(said.map((part) => part.text).join(''), text, 'text')

      const calls = items.flatMap((item) => {
        const isCall = item.type === 'mcp_call' || (item.type === 'function_call' && !ASKING.has(item.name))
        return isCall && item.status !== 'incomplete' ? [item] : []
      })
      // An approval may change the arguments of a call, in the result too.
      const toLine = (name: string, args: string) => `${name} ${args}`
      same(
        calls.map(({ name, arguments: args }) => toLine(name, args)).toSorted(),
        toolCalls.map(({ toolName, args }) => toLine(toolName, JSON.stringify(args))).toSorted(),
        'calls'
      )
      for (const call of calls) {
        if (call.type !== 'mcp_call') continue
        const isWhole = call.status === 'completed' ? call.output !== null : call.error !== null
        if (!isWhole) throw new Error(`a call without its outcome: ${JSON.stringify(call)}`)
      }
      const ids = items.map(({ id }) => id)
      if (new Set(ids).size !== ids.length) throw new Error(`an id is used twice: ${ids.join()}`)
    }),
    options
  )
  t.pass()
})

t.test('a reader that begins anywhere gets the rest of the same stream', async (t) => {
  assert(
    property(logs, nat(200), (log, at) => {
      const entries = log.map((part) => entryFromJson(part.seq, JSON.stringify(part)))
      for (const [id, events] of responsesOf(log)) {
        const read = (after?: number) => {
          const stream = new ResponseStream(new ResponseBuilder(view), id, { startingAfter: after })
          let text = ''
          for (const entry of entries) if (!stream.ended) text += Array.from(stream.encode(entry)).join('')
          return text
        }
        const messages = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        const after = at % events.length
        same(sortedFields(read()), sortedFields(`${messages.join('')}data: [DONE]\n\n`), 'whole')
        same(
          sortedFields(read(after)),
          sortedFields(`${messages.slice(after + 1).join('')}data: [DONE]\n\n`),
          'rest'
        )
      }
    }),
    options
  )
  t.pass()
})

function lastOf(events: readonly ResponseEvent[]): ResponseObject {
  const last = events.at(-1)!
  if (!('response' in last)) throw new Error(`it does not end: ${last.type}`)
  return last.response
}

function same(found: unknown, wanted: unknown, what: string): void {
  const [a, b] = [found, wanted].map((value) => JSON.stringify(sortedKeys(value)))
  if (a !== b) throw new Error(`${what}:\n${a}\nis not\n${b}`)
}

function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sortedKeys(each)])
  )
}

// Fields of deltas that are written by hand may come in another order.
function sortedFields(text: string): unknown[] {
  return text.split('\n\n').map((message) => {
    const data = /^data: (\{.*)$/m.exec(message)?.[1]
    return data === undefined ? message : sortedKeys(JSON.parse(data))
  })
}

function withoutParsed(output: unknown): unknown {
  const drop = new Set(['parsed', 'parsed_arguments'])
  return JSON.parse(JSON.stringify(output, (key, value: unknown) => (drop.has(key) ? undefined : value)))
}
