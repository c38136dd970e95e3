import { setTimeout as pause } from 'node:timers/promises'
import type { Reach } from '../cluster/reach.ts'
import { agentsOf, ask, collect, managedOf, type SessionWire } from './clients.ts'
import type { Reading } from './connections.ts'
import { AgentsListing, ManagedListing, type ListingReader } from './listing-readers.ts'
import { PlayedSession } from './played-session.ts'
import { ResumingReader, type Message } from './resuming-reader.ts'

/** What readers of a session were sent. */
export interface SessionReport {
  /** Events and items that a reader did not get, or no list has. */
  readonly lost: readonly string[]
  /** Events that a reader got twice. */
  readonly twice: readonly string[]
  /** All else that is wrong. */
  readonly faults: readonly string[]
}

const WIRES: readonly SessionWire[] = ['agents', 'managed']
// Milliseconds between two messages, at most.
const PAUSE = 200

/** Plays a conversation with four readers, one of each pattern on each wire; compares what they got with the session as it is at the end. */
export async function watchSession(reading: Reading, messages: number): Promise<SessionReport> {
  const { reach, random } = reading
  const session = await PlayedSession.begin(reach, random)
  const resuming = WIRES.map((wire) => new ResumingReader(wire, session.id, reading))
  const listing = [new AgentsListing(session, reading), new ManagedListing(session, reading)]
  const readers = [...resuming, ...listing]
  const following = [
    ...resuming.map((reader) => reader.follow()),
    ...listing.map(({ connections }) => connections.follow())
  ]
  const faults: string[] = []
  try {
    for (let sent = 0; sent < messages; sent++) {
      await pause(random.below(PAUSE))
      await session.say()
    }
    await session.untilOver()
  } catch (err) {
    faults.push((err as Error).message)
  }
  for (const reader of resuming) reader.endAfter(session.messages.length)
  for (const reader of listing) reader.end()
  await Promise.all(following)

  const whole = await Promise.all(WIRES.map((wire) => readWhole(wire, session, reading)))
  const compared = resuming.map((reader, at) => compareStream(WIRES[at]!, reader.messages, whole[at]!))
  const lost = compared.flatMap((each) => each.lost)
  const [items, events] = await listAll(session, reach)
  for (const [at, listed] of [items, events].entries()) lost.push(...compareList(listing[at]!, listed))
  return {
    lost: lost.map((what) => `${session.id}: ${what}`),
    twice: compared.flatMap((each) => each.twice).map((what) => `${session.id}: ${what}`),
    faults: [
      ...faults,
      ...readers.flatMap(({ connections }) => connections.faults),
      ...compared.flatMap((each) => each.differing),
      ...compareWithSent(session, items, events)
    ].map((what) => `${session.id}: ${what}`)
  }
}

// The stream from its beginning, on one connection if it lasts.
async function readWhole(wire: SessionWire, { id, messages }: PlayedSession, { reach, random }: Reading) {
  const reader = new ResumingReader(wire, id, { reach, random, counts: { events: 0, cuts: 0 } })
  reader.endAfter(messages.length)
  await reader.follow()
  return reader.messages
}

function compareStream(wire: SessionWire, got: readonly Message[], whole: readonly Message[]) {
  const ids = new Set(got.map(({ id }) => id))
  const lost = whole.filter(({ id }) => !ids.has(id)).map(({ data }) => `${wire} has not sent ${data}`)
  const counts = Map.groupBy(got, ({ id }) => id)
  const twice = [...counts.values()]
    .filter((each) => each.length > 1)
    .map(([first]) => `${wire}: ${first!.data}`)
  const at = whole.findIndex(({ id, data }, index) => got[index]?.id !== id || got[index].data !== data)
  const differing =
    lost.length > 0 || twice.length > 0 || at < 0
      ? []
      : [`${wire} has sent ${JSON.stringify(got[at])} instead of ${JSON.stringify(whole[at])}`]
  return { lost, twice, differing }
}

type Items = Awaited<ReturnType<typeof listAll>>[0]
type Events = Awaited<ReturnType<typeof listAll>>[1]

function listAll({ id }: PlayedSession, reach: Reach) {
  return Promise.all([
    reach.persist((url) => ask(() => collect(agentsOf(url).items.list(id, { order: 'asc', limit: 100 })))),
    reach.persist((url) => ask(() => collect(managedOf(url).events.list(id, { limit: 100 }))))
  ])
}

// A message that was listed while it waited has had no time yet.
function compareList({ known }: ListingReader, listed: Items | Events): string[] {
  const ids = new Set(listed.map(({ id }) => id))
  const missing = listed
    .filter(({ id }) => !known.has(id!))
    .map((each) => `not known: ${JSON.stringify(each)}`)
  const unlisted = [...known].filter(([id]) => !ids.has(id)).map(([, json]) => `in no list: ${json}`)
  const changed = listed
    .filter((each) => each.type !== 'user.message' && (known.get(each.id!) ?? '') !== JSON.stringify(each))
    .filter(({ id }) => known.has(id!))
    .map((each) => `known as ${known.get(each.id!)}: ${JSON.stringify(each)}`)
  return [...missing, ...unlisted, ...changed]
}

// The lists have each message and each answer once, in order.
function compareWithSent({ messages, answers }: PlayedSession, items: Items, events: Events): string[] {
  const said = {
    'messages of the Agents API': items.flatMap((item) =>
      item.type === 'message' && item.role === 'user' ? [textOf(item.content)] : []
    ),
    'answers of the Agents API': items.flatMap((item) =>
      item.type === 'message' && item.role === 'assistant' && item.status === 'completed'
        ? [textOf(item.content)]
        : []
    ),
    'messages of Managed Agents': events.flatMap((event) =>
      event.type === 'user.message' ? [textOf(event.content)] : []
    ),
    'answers of Managed Agents': events.flatMap((event) =>
      event.type === 'agent.message' ? [textOf(event.content)] : []
    )
  }
  return Object.entries(said).flatMap(([what, texts]) => {
    const expected = what.startsWith('messages') ? messages : answers
    return texts.join('|') === expected.join('|')
      ? []
      : [`${what}: ${texts.join(' | ')} instead of ${expected.join(' | ')}`]
  })
}

function textOf(content: readonly object[]): string {
  return content.map((part) => ('text' in part ? String(part.text) : '')).join('')
}
