import { hash } from 'node:crypto'
import { ANONYMOUS, isTerminalStatus, randomId, type RunSummary, type StartKey } from '@svc/contract'
import type { Message } from '../model/message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { hasBytes } from './without-bytes.ts'

/** Requests up to this many characters are compared as they are: as cheap to store as a hash, and faster to make. */
const MAX_PLAIN = 256

/** The content is part of the key, so that every other message is another start. */
const CONTENT_IS_IN_KEY = ''

/**
 * The start key of a message, which it shares with its repetitions: its id, context, task, content and tenant. Messages without an id
 * have none, nor have those of anonymous callers, who are many and number their messages alike.
 */
export function toStartKey(
  { messageId, ...message }: SendRequest['message'],
  { tenant, runs, dedupeWindow }: Pick<Surface, 'tenant' | 'runs' | 'dedupeWindow'>,
  { principal, keyed }: Pick<Call, 'principal' | 'keyed'>
): StartKey | undefined {
  if (messageId === undefined || dedupeWindow === 0 || principal.sub === ANONYMOUS.sub) return undefined
  const json = JSON.stringify({ ...message, tenant })
  const isPlain =
    json.length <= MAX_PLAIN && runs.record.input && !message.parts.some(hasBytes) && !hasKey(message, keyed)
  const content = isPlain ? json : hash('sha256', json, 'base64url')
  return { key: `a2a:${messageId}:${content}`, hash: CONTENT_IS_IN_KEY }
}

/** True if a message is the repetition of one that started a run of the owner. */
export async function hasStarted(
  surface: Pick<Surface, 'tenant' | 'runs' | 'dedupeWindow'>,
  call: Pick<Call, 'principal' | 'keyed'>,
  message: SendRequest['message'],
  { registry, owner }: Pick<RunSummary, 'registry' | 'owner'>
): Promise<boolean> {
  const startKey = toStartKey(message, surface, call)
  if (startKey === undefined) return false
  return (await surface.runs.stores.runs.findStarted({ registry, owner, startKey })) !== undefined
}

/** True once a repetition of the message that began the run is a message of its own. */
export function isTooOldToRepeat(
  { status, createdAt }: Pick<RunSummary, 'status' | 'createdAt'>,
  { dedupeWindow }: Pick<Surface, 'dedupeWindow'>
): boolean {
  return isTerminalStatus(status) && Date.now() - createdAt >= dedupeWindow
}

/** A message with an id: its own, or a new one. */
export function withId(message: SendRequest['message']): Message {
  return message.messageId === undefined ? { ...message, messageId: randomId() } : (message as Message)
}

// A redacted value is another object only if a key was in it.
function hasKey(message: object, { redact }: Call['keyed']): boolean {
  return redact !== undefined && redact(message) !== message
}
