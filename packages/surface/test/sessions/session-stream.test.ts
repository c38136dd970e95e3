import { createRunEngine, defineRunnable, GLOBAL_REGISTRY, type SessionKey } from '@svc/registry'
import { codeOf } from '@svc/testing'
import type { NumberedPart } from '@svc/contract'
import { streamSession, type SessionEvents } from '@svc/surface'
import t from 'tap'

const key: SessionKey = {
  registry: GLOBAL_REGISTRY,
  kind: 'agent',
  name: 'speaker',
  owner: 'anonymous',
  sessionId: 's'
}
const speaker = defineRunnable({
  kind: 'agent',
  name: 'speaker',
  async *stream(input) {
    for (const text of String(input)) yield { type: 'data', name: 'letter', value: text } as const
  }
})

interface Event {
  readonly runId: string
  readonly text: string
}

/** As many events of each letter as letters have been seen in its run. */
class Counting implements SessionEvents<Event> {
  readonly #until: number
  #runId = ''
  #seen = 0
  #ends = 0

  constructor(until = Infinity) {
    this.#until = until
  }

  begin({ runId }: { runId: string }): void {
    this.#runId = runId
    this.#seen = 0
  }

  add(part: NumberedPart): Event[] {
    if (part.type === 'finish') this.#ends++
    if (part.type !== 'data') return []
    this.#seen++
    return Array.from({ length: this.#seen }, (_, at) => ({
      runId: this.#runId,
      text: `${String(part.value)}${this.#seen}${at}`
    }))
  }

  continueText(): undefined {}

  get ended(): boolean {
    return this.#ends >= this.#until
  }
}

interface Message {
  readonly id: string
  readonly text: string
}

async function read(stream: ReadableStream<string>): Promise<Message[]> {
  let all = ''
  for await (const piece of stream) all += piece
  return all
    .split('\n\n')
    .filter((message) => message.startsWith('id: '))
    .map((message) => {
      const [, id, name, json] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(message)!
      const { text } = JSON.parse(json!) as Event
      return name === text[0] ? { id: id!, text } : { id: '', text: '' }
    })
}

t.test('a stream continues after each of its events', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  for (const input of ['abc', 'xy']) await (await engine.start(speaker, input, { sessionId: 's' })).result()
  const session = (await engine.sessions.find(key))!
  const surface = { runs: engine, heartbeat: 15_000 }
  const from = async (after: string, runs: number) =>
    read(await streamSession(surface, session, new Counting(runs), { after, nameOf: ({ text }) => text[0]! }))
  const all = await from('0.0', 2)
  t.same(
    all.map(({ id }) => id),
    ['1.2', '1.3.1', '1.3.2', '1.4.1', '1.4.2', '1.4.3', '2.2', '2.3.1', '2.3.2']
  )
  t.same(
    all.map(({ text }) => text),
    ['a10', 'b20', 'b21', 'c30', 'c31', 'c32', 'x10', 'y20', 'y21']
  )
  for (const [at, { id }] of all.entries()) {
    const isInFirst = at < 6
    // A projection that reads the first run again sees both ends.
    t.same(await from(id, isInFirst ? 2 : 1), all.slice(at + 1), id)
  }
  t.same(await from('1.3', 2), all.slice(3), 'after all events of a part')
  t.same(await from('1.5', 1), all.slice(6), 'after the end of a run')
  t.same(await from('2.0', 1), all.slice(6))
  for (const [after, code] of [
    ['x', 'RUN_ERR_BAD_POSITION'],
    ['1.1.1.1', 'RUN_ERR_BAD_POSITION'],
    ['1.9', 'RUN_ERR_LOG_GONE'],
    ['9.0', 'RUN_ERR_LOG_GONE']
  ] as const)
    t.equal(await codeOf(() => streamSession(surface, session, new Counting(), { after })), code, after)
})

t.test('a stream without a place begins with the next run, and follows it', async (t) => {
  const engine = createRunEngine()
  t.teardown(() => engine.close())
  await (await engine.start(speaker, 'abc', { sessionId: 's' })).result()
  const session = (await engine.sessions.find(key))!
  const options = { nameOf: ({ text }: Event) => text[0]! }
  const stream = await streamSession({ runs: engine, heartbeat: 15_000 }, session, new Counting(1), options)
  const messages = read(stream)
  await (await engine.start(speaker, 'z', { sessionId: 's' })).result()
  t.same(await messages, [{ id: '2.2', text: 'z10' }])
})
