import { RunResultBuilder, type NumberedPart, type StoredSession } from '@svc/contract'
import { randomLog } from '@svc/testing'
import { join } from 'node:path'
import { array, assert, nat, property } from 'fast-check'
import t from 'tap'
import { findTypeFaults } from '@tools/wires/sdk-types'
import { SessionProjection } from '../../src/agents/projection/session-projection.ts'
import { TurnProjection, type TurnContext } from '../../src/agents/projection/turn-projection.ts'
import { toAgentSession } from '../../src/agents/wire/agent-objects.ts'
import type { AgentSessionEvent } from '../../src/agents/wire/event-schemas.ts'
import type { SessionItem } from '../../src/agents/wire/item-schemas.ts'

const logs = array(nat(99), { minLength: 60, maxLength: 60 }).map((numbers) => {
  let at = 0
  return randomLog((below) => numbers[at++ % numbers.length]! % below)
})
const numRuns = 150
const IMPORTS = [
  "import type { AgentSession, AgentSessionEvent, AgentSessionItem, Subagent } from 'openai/resources/beta/agents/agents'",
  "import type { Turn } from 'openai/resources/beta/agents/sessions/turns/turns'"
]
const session: StoredSession = {
  registry: 'global',
  owner: 'ada',
  kind: 'team',
  name: 'crew',
  sessionId: 'sess_1',
  title: null,
  metadata: { order: '7' },
  createdAt: 1,
  updatedAt: 2,
  turns: 0,
  lastOrdinal: 1,
  activeRun: null
}
const tools = [
  { type: 'function', name: 'ask_user', description: '', parameters: {}, defer_loading: false }
] as const
const context: TurnContext = { session, settings: { tools }, toolCalls: 'mcp_call' }

function eventsOf(log: readonly NumberedPart[]): AgentSessionEvent[] {
  const projection = new SessionProjection(context)
  projection.begin({ ordinal: 1, runId: 'r' })
  // As a client has them.
  return log.flatMap((part) => JSON.parse(JSON.stringify(projection.add(part))) as AgentSessionEvent[])
}

function turnOf(log: readonly NumberedPart[]): TurnProjection {
  const turn = new TurnProjection('r', context)
  for (const part of log) turn.add(part)
  return turn
}

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T
function same(found: unknown, wanted: unknown, what: string): void {
  if (JSON.stringify(found) !== JSON.stringify(wanted))
    throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`)
}

/** All items that events tell of, as the last one of each tells it. */
function itemsOf(events: readonly AgentSessionEvent[]): Map<string, SessionItem> {
  const items = new Map<string, SessionItem>()
  const texts = new Map<string, string>()
  for (const event of events) {
    switch (event.type) {
      case 'agent.session.turn.item.added':
        if (items.has(event.item.id)) throw new Error(`${event.item.id} is added twice`)
        items.set(event.item.id, event.item)
        break
      case 'agent.session.turn.output_text.delta':
      case 'agent.session.turn.reasoning_summary_text.delta':
        texts.set(event.item_id, (texts.get(event.item_id) ?? '') + event.delta)
        break
      case 'agent.session.turn.output_text.done':
      case 'agent.session.turn.reasoning_summary_text.done':
        same(event.text, texts.get(event.item_id), 'the increments are the text')
        break
      case 'agent.session.turn.item.done': {
        const known = items.get(event.item.id)
        if (known === undefined || ('status' in known && known.status !== 'in_progress'))
          throw new Error(`${event.item.id} is done, and is not under way`)
        items.set(event.item.id, event.item)
        break
      }
      default:
    }
  }
  return items
}

t.test('increments that continue a text are the same messages in short', (t) => {
  let continued = 0
  assert(
    property(logs, (log) => {
      const [whole, short] = [new SessionProjection(context), new SessionProjection(context)]
      for (const each of [whole, short]) each.begin({ ordinal: 1, runId: 'r' })
      const toMessage = (event: object) => `data: ${JSON.stringify(event)}\n\n`
      for (const part of log) {
        const made = whole.add(part).map(toMessage).join('')
        const isText = part.type === 'text' && !part.source?.length
        const message = isText ? short.continueText(part, JSON.stringify(part.text)) : undefined
        if (message !== undefined) continued++
        const shown = message ?? short.add(part).map(toMessage).join('')
        if (made !== shown) throw new Error(`${shown}, not ${made}`)
      }
    }),
    { numRuns }
  )
  t.ok(continued > 10, `${continued} texts were continued`)
  t.end()
})

t.test('the events of random runs fit the types of the SDK', async (t) => {
  const events: AgentSessionEvent[] = []
  const items: SessionItem[] = []
  const subagents: unknown[] = []
  assert(
    property(logs, (log) => {
      events.push(...eventsOf(log))
      const turn = turnOf(log)
      items.push(...plain(turn.itemsOf()))
      subagents.push(...turn.subagents.map((member) => turn.toSubagent(member)))
    }),
    { numRuns }
  )
  const sessions = [
    toAgentSession(session, {}, { status: 'idle', required: [], at: 5 }),
    ...events.flatMap((event) => ('session' in event ? event.session : []))
  ]
  const turns = events.flatMap((event) => ('turn' in event ? event.turn : []))
  const file = join(t.testdir(), 'events.ts')
  const faults = await findTypeFaults(
    {
      AgentSessionEvent: events,
      AgentSessionItem: items,
      Subagent: subagents,
      AgentSession: sessions,
      Turn: turns
    },
    IMPORTS,
    file
  )
  t.equal(faults, '')
  const types = new Set(events.map(({ type }) => type))
  t.ok(types.size >= 20, `${types.size} of the types of events occur`)
  const wrong = await findTypeFaults({ AgentSessionEvent: [{ ...events[0], more: 1 }] }, IMPORTS, file)
  t.match(wrong, /more/, 'a field that the type does not have is found')
})

t.test('items are added, done once, and listed as they were streamed', (t) => {
  assert(
    property(logs, (log) => {
      const events = eventsOf(log)
      const told = itemsOf(events)
      const turn = turnOf(log)
      const listed = plain(
        [turn.own, ...turn.subagents.map(({ items }) => items)].flatMap(({ items }) => [...items])
      )
      same(
        listed.map((item) => item.id).toSorted(),
        [...told.keys()].toSorted(),
        'the list has what was streamed'
      )
      for (const item of listed) {
        if ('status' in item && item.status === 'in_progress') throw new Error(`${item.id} is not done`)
        same(item, told.get(item.id), 'the list and the last event agree')
      }
      const ids = events.map(({ event_id: id }) => id)
      same(new Set(ids).size, ids.length, 'each event has an id of its own')
      const last = events.at(-1)!
      same(last.type, 'agent.session.idle', 'the session is idle at the end')
    }),
    { numRuns }
  )
  t.end()
})

t.test('the text and the calls are those of the result', (t) => {
  assert(
    property(logs, (log) => {
      const result = new RunResultBuilder()
      for (const part of log) result.add(part)
      const { text, structured } = result.build()
      const end = log.at(-1)!
      if (end.type !== 'finish' || end.finishReason === 'canceled') return
      const step = log.findLast(({ type, source }) => type === 'step.start' && !source?.length)?.seq ?? 0
      const said = turnOf(log)
        .itemsOf()
        .filter((item) => item.type === 'message' && item.role === 'assistant' && item.status === 'completed')
        .filter(({ id }) => Number(id.split('_').at(-1)) > step)
        .map((item) =>
          item.type === 'message'
            ? item.content.map(({ text: each = '' }: { text?: string }) => each).join('')
            : ''
        )
        .join('')
      if (text !== '' || structured === null) same(said, text, 'the same text')
    }),
    { numRuns }
  )
  t.end()
})

t.test('what is required can be answered, and nothing is required at the end', (t) => {
  assert(
    property(logs, (log) => {
      const projection = new TurnProjection('r', context)
      for (const part of log) {
        const events = projection.add(part)
        const state = events.findLast((event) => 'session' in event)
        if (state === undefined || !('session' in state)) continue
        const { status, required_actions: actions } = state.session
        same(
          status === 'requires_action',
          actions.length > 0,
          'the status says whether something is required'
        )
        same(actions.length, projection.run.pending.size, 'all that the run waits for is required')
      }
      same(projection.required.size, 0, 'nothing is required')
      same(projection.status, 'idle', 'the session is idle')
    }),
    { numRuns }
  )
  t.end()
})
