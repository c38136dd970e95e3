import type { SessionKey } from '@svc/registry'
import { partsOfTurn, readPresent, readTurns, type Turn } from '@svc/registry/wire-kit'
import { RunEvents, type EventOptions } from '../projection/run-events.ts'
import { encodeEntry, encodeEvents } from '../projection/run-stream.ts'
import type { Surface } from '../surface.ts'

/** Where a turn is found again, without its messages. */
export type TurnPlace = Pick<Turn, 'runId' | 'end'>

/** Characters of messages that are sent in one piece. */
const PIECE = 32_768

/**
 * The newest turns of a session, oldest first: those of about so many messages. Their messages, of any size, are not kept.
 * @throws RUN_ERR_STORE
 */
export async function findTurns(
  { runs }: Pick<Surface, 'runs'>,
  session: SessionKey,
  limit: number
): Promise<TurnPlace[]> {
  let found: TurnPlace[] = []
  let before: string | undefined
  for (let left = limit; left > 0;) {
    const pages = { limit: left, ...(before !== undefined && { before }) }
    const { turns, nextCursor } = await readTurns(runs.sessions, session, pages)
    found = [...turns.map(({ runId, end }) => ({ runId, end })), ...found]
    for (const { messages } of turns) left -= messages.length
    if (nextCursor === null) break
    before = nextCursor
  }
  return found
}

/**
 * Encodes runs that have ended, one after another, as they are read: as the log of each has it, else as its session has the turn.
 * @param session of the turns; undefined if their runnable keeps none
 * @throws RUN_ERR_STORE
 */
export async function* encodeTurns(
  surface: Surface,
  session: SessionKey | undefined,
  turns: readonly TurnPlace[],
  options: EventOptions
): AsyncGenerator<string, void> {
  for (const turn of turns) yield* encodeTurn(surface, session, turn, options)
}

async function* encodeTurn(
  { runs }: Surface,
  session: SessionKey | undefined,
  { runId, end }: TurnPlace,
  options: EventOptions
): AsyncGenerator<string, void> {
  const events = new RunEvents(options)
  let text = ''
  let isKept = false
  for await (const entry of readPresent(runs.stores, runId)) {
    isKept = true
    const frames = encodeEntry(entry, events.add(entry.part))
    if (typeof frames === 'string') text += frames
    if (typeof frames === 'string' && text.length < PIECE) continue
    yield text
    text = ''
    if (typeof frames !== 'string') yield* frames
  }
  if (!isKept && session !== undefined) {
    const page = await readTurns(runs.sessions, session, {
      limit: 1,
      ...(end !== undefined && { before: end })
    })
    const turn = page.turns.at(-1)
    // The session may have been removed meanwhile.
    if (turn?.runId !== runId) return
    for (const part of partsOfTurn(turn, session.sessionId)) text += encodeEvents(events.add(part))
    text += encodeEvents(events.finish())
  }
  // A run that ended a moment ago may have a log without its end yet.
  if (!events.ended) text += encodeEvents(events.pause())
  yield text
}
