import { hash } from 'node:crypto'
import type { StartKey } from '@svc/registry'
import { randomId } from '@svc/registry/kit'
import type { Message } from '../model/message.ts'
import type { SendRequest } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { hasBytes } from './without-bytes.ts'

/** Requests up to this many characters are compared as they are: as cheap to store as a hash, and faster to make. */
const MAX_PLAIN = 256

/** The start key of a message: one without an id is always new, and to another tenant it is another request. */
export function toStartKey(
  { messageId, ...message }: SendRequest['message'],
  { tenant, runs }: Surface
): StartKey | undefined {
  if (messageId === undefined) return undefined
  const json = JSON.stringify({ ...message, tenant })
  const isPlain = json.length <= MAX_PLAIN && runs.record.input && !message.parts.some(hasBytes)
  return { key: `a2a:${messageId}`, hash: isPlain ? json : hash('sha256', json, 'base64url') }
}

/** A message with an id: its own, or a new one. */
export function withId(message: SendRequest['message']): Message {
  return message.messageId === undefined ? { ...message, messageId: randomId() } : (message as Message)
}
