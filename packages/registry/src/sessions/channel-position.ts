import { RUN_ERR_BAD_POSITION, type StoredSession } from '@svc/contract'

/** A place in the channel of a session: after a part of the run with this ordinal; `seq` 0 is its beginning. */
export interface ChannelPosition {
  readonly ordinal: number
  readonly seq: number
}

/** The id of a message of the channel, which continues after it: `<ordinal>.<seq>`. */
export function formatPosition({ ordinal, seq }: ChannelPosition): string {
  return `${ordinal}.${seq}`
}

/** Parses an id of the channel; `0.0` is the beginning of the first run. @throws RUN_ERR_BAD_POSITION */
export function parsePosition(id: string): ChannelPosition {
  const [, ordinal, seq] = /^(\d{1,15})\.(\d{1,15})$/.exec(id) ?? []
  if (ordinal === undefined || seq === undefined) throw new RUN_ERR_BAD_POSITION()
  const position = { ordinal: Number(ordinal), seq: Number(seq) }
  return position.ordinal === 0 && position.seq === 0 ? { ordinal: 1, seq: 0 } : position
}

/** Where the channel continues after the saved messages: the beginning of the run under way, or of the next one. */
export function presentOf({
  activeRun,
  lastOrdinal
}: Pick<StoredSession, 'activeRun' | 'lastOrdinal'>): ChannelPosition {
  return { ordinal: activeRun === null ? lastOrdinal + 1 : lastOrdinal, seq: 0 }
}
