import type { SessionKey } from '@svc/contract'
import { sizeOfEntry } from '@svc/contract/stores'
import { partsOfTurn, readPresent, readTurn, type Turn, type WireSurface } from '@svc/surface'
import { RunEvents, type EventOptions } from '../projection/run-events.ts'
import { encodeEntry, encodeEvents } from '../projection/run-stream.ts'

/** Where a turn is found, without its messages. */
export type TurnPlace = Pick<Turn, 'runId' | 'end'>

/** Waits until there is memory for a large part of so many bytes. */
export type Admit = (bytes: number) => Promise<void> | undefined

/** Characters of messages that are sent in one piece. */
const PIECE = 32_768

/**
 * Encodes runs that have ended, one after another, as they are read: as the log of each has it, else as its session has the turn.
 * @param session of the turns; undefined if their runnable keeps none
 * @param admit called before a part that is larger than a piece is encoded
 * @throws RUN_ERR_STORE
 */
export async function* encodeTurns(
  surface: WireSurface,
  session: SessionKey | undefined,
  turns: readonly TurnPlace[],
  options: EventOptions,
  admit?: Admit
): AsyncGenerator<string, void> {
  for (const turn of turns) yield* encodeTurn(surface, session, turn, options, admit)
}

async function* encodeTurn(
  { runs }: WireSurface,
  session: SessionKey | undefined,
  turn: TurnPlace,
  options: EventOptions,
  admit?: Admit
): AsyncGenerator<string, void> {
  const { runId } = turn
  const events = new RunEvents(options)
  let text = ''
  let isKept = false
  for await (const entry of readPresent(runs.stores, runId)) {
    isKept = true
    const size = sizeOfEntry(entry)
    if (size > PIECE) await admit?.(size)
    const frames = encodeEntry(entry, events.add(entry.part))
    if (typeof frames === 'string') text += frames
    if (typeof frames === 'string' && text.length < PIECE) continue
    yield text
    text = ''
    if (typeof frames !== 'string') yield* frames
  }
  if (!isKept && session !== undefined) {
    const messages = await readTurn(runs.sessions, session, turn)
    if (messages.length === 0) return
    for (const part of partsOfTurn({ runId, messages }, session.sessionId))
      text += encodeEvents(events.add(part))
    text += encodeEvents(events.finish())
  }
  // A run that ended a moment ago may have a log without its end yet.
  if (!events.ended) text += encodeEvents(events.pause())
  yield text
}
