import type { ServerContext } from '@modelcontextprotocol/server'
import type { Client } from '../server/caller.ts'
import type { Elicitation } from './elicitation.ts'

/** What the ids of elicitations begin with, so that their answers differ from those to other requests. */
const PREFIX = 'input:'

/**
 * Sends an elicitation on the stream of a call, for revisions before 2026-07-28. Its id is that of the input, so that whichever node gets
 * the answer knows what it is for.
 */
export function requestInputs(
  ctx: ServerContext,
  inputId: string,
  params: Elicitation,
  { send }: Client
): void {
  const about = params.mode === 'url' ? { ...params, elicitationId: inputId } : { ...params }
  send({ jsonrpc: '2.0', id: `${PREFIX}${inputId}`, method: 'elicitation/create', params: about }, ctx)
}

/** The input that a response of JSON-RPC answers; undefined if it is none. */
export function inputOf(message: unknown): { inputId: string; result: unknown } | undefined {
  if (typeof message !== 'object' || message === null || 'method' in message) return undefined
  const { id, result, error } = message as { id?: unknown; result?: unknown; error?: unknown }
  if (typeof id !== 'string' || !id.startsWith(PREFIX)) return undefined
  // A client that cannot show a form has not answered.
  return { inputId: id.slice(PREFIX.length), result: error === undefined ? result : { action: 'cancel' } }
}
