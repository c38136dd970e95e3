import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import {
  defined,
  type ContentPart,
  type RunInput,
  type Runnable,
  type StartKey,
  type StoredSession
} from '@svc/contract'
import { contentOfFile, sendMessage, type Run, type WireSurface } from '@svc/surface'
import type { FastifyRequest } from 'fastify'
import { ANTHROPIC_ERR_BAD_REQUEST, ANTHROPIC_ERR_UNSUPPORTED } from '../errors.ts'
import type { ManagedSettings } from '../sessions/session-settings.ts'
import type { UserBlock } from '../wire/blocks.ts'
import type { UserMessage } from '../wire/events.ts'

/**
 * The input for a message of the user: a text if all of it is text, else content parts; its JSON for a runnable with an input schema.
 * @throws ANTHROPIC_ERR_BAD_REQUEST, ANTHROPIC_ERR_UNSUPPORTED
 */
export function readMessage(
  { content }: UserMessage,
  { inputSchema }: Pick<Runnable, 'inputSchema'>
): RunInput {
  const parts = content.flatMap(toParts)
  if (parts.length === 0) throw new ANTHROPIC_ERR_BAD_REQUEST('user.message: it has no content')
  if (!parts.every((part) => part.type === 'text')) return parts
  const text = parts.map((part) => part.text).join('\n')
  if (inputSchema === undefined) return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new ANTHROPIC_ERR_BAD_REQUEST(
      'user.message: its text must be JSON, since this agent has an input schema'
    )
  }
}

function toParts(block: UserBlock): ContentPart[] {
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [{ type: 'text', text: block.text }]
    case 'image':
      return [toFile(block.source, 'image/*')]
    case 'document': {
      const { title, context, source } = block
      const about = context ? [{ type: 'text' as const, text: context }] : []
      return [...about, toFile(source, 'application/pdf', title ?? undefined)]
    }
    default:
      throw new ANTHROPIC_ERR_UNSUPPORTED('redacted blocks')
  }
}

type Source = Extract<UserBlock, { source: unknown }>['source']

function toFile(source: Source, usual: string, filename?: string): ContentPart {
  const named = defined({ filename })
  switch (source.type) {
    case 'url': {
      const isData = source.url.startsWith('data:')
      return contentOfFile({ url: source.url, ...named, ...(!isData && { mimeType: usual }) })
    }
    case 'base64':
      return contentOfFile({ url: `data:;base64,${source.data}`, mimeType: source.media_type, ...named })
    case 'text': {
      const data = Buffer.from(source.data).toString('base64')
      return contentOfFile({ url: `data:;base64,${data}`, mimeType: source.media_type, ...named })
    }
    default:
      throw new ANTHROPIC_ERR_UNSUPPORTED('files by id: send their content or a URL')
  }
}

type SendRequest = Pick<FastifyRequest, 'caller' | 'headers' | 'log' | 'body'>

/**
 * Sends the first messages of a session, in order; each waits for its turn.
 * @throws the errors of `sendMessage`
 */
export async function sendMessages(
  surface: WireSurface,
  session: StoredSession,
  settings: ManagedSettings,
  inputs: readonly RunInput[],
  request: SendRequest
): Promise<void> {
  // A request that is repeated begins another session.
  const { 'idempotency-key': _, ...headers } = request.headers
  const { caller, log, body } = request
  for (const input of inputs)
    await sendInput(surface, session, settings, input, { caller, headers, log, body }, 0)
}

/** Sends one message. @param place among the events of its request */
export async function sendInput(
  surface: WireSurface,
  session: StoredSession,
  { tools, instructions }: ManagedSettings,
  input: RunInput,
  { caller, headers, log, body }: SendRequest,
  place: number
): Promise<Run> {
  const options = {
    whenBusy: 'queue',
    ...defined({ startKey: toStartKey(headers, body, session, place) })
  } as const
  const sender = { caller, headers: withoutToken(headers), log }
  return sendMessage(surface, session, { input, ...defined({ tools, instructions }) }, options, sender)
}

/** The headers without `x-api-key`, which on this wire is the token of the app and never the key of a model provider. */
export function withoutToken({ 'x-api-key': _, ...headers }: IncomingHttpHeaders): IncomingHttpHeaders {
  return headers
}

/** @throws ANTHROPIC_ERR_BAD_REQUEST */
function toStartKey(
  { 'idempotency-key': key }: IncomingHttpHeaders,
  body: unknown,
  { sessionId }: StoredSession,
  place: number
): StartKey | undefined {
  if (key === undefined) return undefined
  if (!/^[!-~]{1,200}$/.test(String(key)))
    throw new ANTHROPIC_ERR_BAD_REQUEST('Idempotency-Key must have 1–200 visible ASCII characters')
  return { key: `managed:${place}:${String(key)}`, hash: hash('sha256', JSON.stringify([sessionId, body])) }
}
