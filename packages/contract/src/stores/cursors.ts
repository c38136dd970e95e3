import { REG_ERR_BAD_CURSOR } from '../errors.ts'
import { beginningOf } from '../json.ts'
import type {
  FoundInput,
  InputSummary,
  PendingSummary,
  RunSummary,
  StoredInput,
  StoredRun
} from '../ports/run-store.ts'
import { PREVIEW } from '../run-result.ts'

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

/** The maximum size, in bytes of JSON, of the arguments of a listed input. */
export const MAX_LISTED_ARGS = 4_096

/** The maximum number of approvals, and of other inputs, in a listed run. */
export const MAX_LISTED_INPUTS = 10

/** The beginning of a long JSON text. */
export function previewOfJson(json: string): string {
  return beginningOf(json, PREVIEW)
}

/** Summarizes an input for a list. */
export function summarizeInput({ args, path: _, ...input }: StoredInput): InputSummary {
  const json = JSON.stringify(args) ?? ''
  const argsBytes = Buffer.byteLength(json)
  if (argsBytes > MAX_LISTED_ARGS) return { ...input, argsPreview: previewOfJson(json), argsBytes }
  return args === undefined ? { ...input, argsBytes } : { ...input, args, argsBytes }
}

/** No pending inputs. */
export const NOTHING_PENDING: PendingSummary = Object.freeze({ first: [], count: 0 })

/** Summarizes a run for a list; `summarize` may cache the summaries of inputs. */
export function summarizeRun(
  run: StoredRun,
  { preview, stats, bytes, queuePosition }: Pick<RunSummary, 'preview' | 'stats' | 'bytes' | 'queuePosition'>,
  summarize: (input: StoredInput) => InputSummary
): RunSummary {
  const { result: _, inputs: __, ...rest } = run
  return {
    ...rest,
    bytes,
    preview,
    stats,
    queuePosition,
    waiting: summarizeWaiting(pendingOf(run), summarize)
  }
}

function summarizeWaiting(
  pending: readonly StoredInput[],
  summarize: (input: StoredInput) => InputSummary
): RunSummary['waiting'] {
  if (pending.length === 0) return { approvals: NOTHING_PENDING, inputs: NOTHING_PENDING }
  const summaryOf = (inputs: readonly StoredInput[]) => ({
    first: inputs.slice(0, MAX_LISTED_INPUTS).map(summarize),
    count: inputs.length
  })
  return {
    approvals: summaryOf(pending.filter(({ kind }) => kind === 'approval')),
    inputs: summaryOf(pending.filter(({ kind }) => kind !== 'approval'))
  }
}

/** The pending inputs of a run, the first to expire first. */
export function pendingOf({ status, inputs }: Pick<StoredRun, 'status' | 'inputs'>): StoredInput[] {
  if (status !== 'input-required') return []
  return inputs.filter(({ answer }) => answer === null).sort(firstToExpire)
}

type Expiring = Pick<StoredInput, 'expiresAt' | 'inputId'>

/** Compares inputs: the first to expire comes first. */
export function firstToExpire(a: Expiring, b: Expiring): number {
  return a.expiresAt - b.expiresAt || (a.inputId < b.inputId ? -1 : a.inputId > b.inputId ? 1 : 0)
}
