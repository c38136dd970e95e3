import { REG_ERR_BAD_CURSOR } from '../errors.ts'
import type { FoundInput } from '../ports/run-store.ts'

/** A position in a list of runs: the id of a page's last run, and the time that the list is sorted by. */
export interface RunPosition {
  at: number
  runId: string
}

/** A position in a list of inputs: when the run of a page's last input began, and when that input expires. */
export interface InputPosition {
  createdAt: number
  expiresAt: number
  inputId: string
}

/** The cursor of the page after this item. */
export function formatRunCursor({ at, runId }: RunPosition): string {
  return `${at}.${runId}`
}

/**
 * A page of items, of which one more than its limit was looked for.
 * @param positionOf the place of an item in the list; by its id, if it is no run
 */
export function pageOf<T>(
  found: readonly T[],
  limit: number,
  positionOf: (item: T) => RunPosition
): { page: T[]; nextCursor: string | null } {
  const page = found.slice(0, limit)
  const last = page.at(-1)
  const hasMore = last !== undefined && found.length > limit
  return { page, nextCursor: hasMore ? formatRunCursor(positionOf(last)) : null }
}

/** Parses a cursor. @throws REG_ERR_BAD_CURSOR */
export function parseRunCursor(cursor: string): RunPosition {
  const [, at, runId] = /^(\d{1,15})\.([\w-]{1,64})$/.exec(cursor) ?? []
  if (at === undefined || runId === undefined) throw new REG_ERR_BAD_CURSOR()
  return { at: Number(at), runId }
}

/** The cursor of the page after this input. */
export function formatInputCursor({ run, input }: FoundInput): string {
  return `${run.createdAt}.${input.expiresAt}.${input.inputId}`
}

/** Parses a cursor of a page of inputs. @throws REG_ERR_BAD_CURSOR */
export function parseInputCursor(cursor: string): InputPosition {
  const [, createdAt, expiresAt, inputId] =
    /^(\d{1,15})\.(\d{1,15})\.([\w-]{1,64}\.\d{1,15})$/.exec(cursor) ?? []
  if (inputId === undefined) throw new REG_ERR_BAD_CURSOR()
  return { createdAt: Number(createdAt), expiresAt: Number(expiresAt), inputId }
}

/** The cursor of the page after the item with this number. */
export function formatSeqCursor(seq: number): string {
  return String(seq)
}

/** Parses a cursor. @throws REG_ERR_BAD_CURSOR */
export function parseSeqCursor(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw new REG_ERR_BAD_CURSOR()
  return Number(cursor)
}

/** The id of an input's run, with which the input's id begins. */
export function runIdOf(inputId: string): string {
  return inputId.slice(0, Math.max(0, inputId.lastIndexOf('.')))
}

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
