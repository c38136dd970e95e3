import { REG_ERR_BAD_CURSOR } from '../errors.ts'

/** A position in a list of sessions: when a page's last one was changed, and its key as a text. */
export interface SessionPosition {
  at: number
  key: string
}

/** The cursor of the page after this session. */
export function formatSessionCursor({ at, key }: SessionPosition): string {
  return `s${at}.${Buffer.from(key).toString('base64url')}`
}

/** Parses a cursor. @throws REG_ERR_BAD_CURSOR */
export function parseSessionCursor(cursor: string): SessionPosition {
  const [, at, key] = /^s(\d{1,15})\.([\w-]{1,8192})$/.exec(cursor) ?? []
  if (at === undefined || key === undefined) throw new REG_ERR_BAD_CURSOR()
  return { at: Number(at), key: Buffer.from(key, 'base64url').toString() }
}

/** The cursor of the page before this message. */
export function formatMessageCursor(seq: number): string {
  return `m${seq}`
}

/** Parses a cursor of a page of messages. @throws REG_ERR_BAD_CURSOR */
export function parseMessageCursor(cursor: string): number {
  const [, seq] = /^m(\d{1,15})$/.exec(cursor) ?? []
  if (seq === undefined) throw new REG_ERR_BAD_CURSOR()
  return Number(seq)
}
