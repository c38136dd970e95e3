import { randomUUID } from 'node:crypto'
import { isTerminalPart, type NumberedPart } from '@svc/registry'
import { readEvents } from '../../../test/helpers/wires/read-log.ts'
import { Fatal } from '../agents/service.ts'
import { startRun } from './clients.ts'
import type { Reach } from './reach.ts'
import { answerTo } from './shown.ts'
import { watchRun, type Client, type WatchedRun } from './watched-run.ts'

/** A session, and what a reader of all of it received. */
export interface Conversation {
  /** In the order of their acceptance: each message was sent when the one before it had been acknowledged. */
  readonly turns: readonly { readonly id: string; readonly run: WatchedRun }[]
  /** The JSON of each part, with its run. */
  readonly channel: readonly string[]
  /** Why the reader did not reach the end, and messages that were never acknowledged. */
  readonly faults: readonly string[]
}

// Milliseconds without a part after which the reader connects to another node.
const PATIENCE = 4_000
const TOOLS = ['', '', ' look', ' look send'] as const

/** Sends messages to a session over HTTP and sockets, some while the runs before them are under way; reads each run, and the session. */
export async function converse(client: Client, count: number): Promise<Conversation> {
  const { reach, random } = client
  const sessionId = randomUUID()
  const faults: string[] = []
  const watching: { id: string; run: Promise<WatchedRun> }[] = []
  const channel = new Channel(sessionId)
  const reading = channel.follow(reach, random.next()).catch((err: Error) => faults.push(err.message))
  for (let n = 0; n < count; n++) {
    const id = `${sessionId.slice(0, 8)}.${n}`
    const surface = random.chance(0.3) ? 'socket' : 'http'
    const start = {
      kind: 'agent',
      name: 'pupil',
      input: id + random.pick(TOOLS),
      sessionId,
      surface
    } as const
    try {
      const started = await startRun(reach, start, random)
      const run = watchRun(client, 'pupil', answerTo(id), started)
      watching.push({ id, run })
      if (random.chance(0.4)) await run
    } catch (err) {
      faults.push(`${id} was never acknowledged: ${(err as Error).message}`)
      break
    }
  }
  const turns = await Promise.all(watching.map(async ({ id, run }) => ({ id, run: await run })))
  channel.end(turns.at(-1)?.run.runId)
  await reading
  return { turns, channel: channel.received, faults }
}

/** A reader of a session. */
class Channel {
  readonly #sessionId: string
  readonly received: string[] = []
  readonly #ended = new Set<string>()
  readonly #leaving = new AbortController()
  #last: string | undefined
  #lastId = '0.0'

  constructor(sessionId: string) {
    this.#sessionId = sessionId
  }

  /** Nothing comes after the end of this run; undefined if there is none. */
  end(runId: string | undefined): void {
    this.#last = runId
    if (runId === undefined || this.#ended.has(runId)) this.#leaving.abort()
  }

  /** Reads to the end, as one client that resumes by `Last-Event-ID` whenever its connection breaks. */
  async follow(reach: Reach, share: number): Promise<void> {
    while (!this.#leaving.signal.aborted)
      await reach.persist((url) => this.#read(url, 1 + Math.floor(share * 40)))
  }

  // Leaves by itself after so many parts.
  async #read(url: string, left: number): Promise<void> {
    const silent = new AbortController()
    const timer = setTimeout(() => silent.abort(), PATIENCE)
    try {
      const response = await fetch(`${url}/api/sessions/agent/pupil/${this.#sessionId}/stream`, {
        headers: { 'last-event-id': this.#lastId },
        signal: AbortSignal.any([silent.signal, this.#leaving.signal])
      })
      // A session exists once its first run has its turn.
      if (response.status === 410) throw new Fatal(`session ${this.#sessionId}: 410 after ${this.#lastId}`)
      if (response.status !== 200) throw new Error(`${response.status}`)
      for await (const { id, data } of readEvents(response)) {
        timer.refresh()
        if (id === undefined) continue
        this.#lastId = id
        this.received.push(data)
        const part = JSON.parse(data) as NumberedPart & { runId: string }
        if (isTerminalPart(part)) {
          this.#ended.add(part.runId)
          if (part.runId === this.#last) this.#leaving.abort()
        }
        if (--left === 0) return
      }
      throw new Error('suspended')
    } catch (err) {
      if (!this.#leaving.signal.aborted) throw err
    } finally {
      clearTimeout(timer)
    }
  }
}
