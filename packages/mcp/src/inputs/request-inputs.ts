import type { Message } from '../protocol/message.ts'
import type { Elicitation } from './elicitation.ts'

/** What the ids of elicitations begin with, so that their answers differ from those to other requests. */
const PREFIX = 'input:'

/**
 * The request of an elicitation on the stream of a call, for revisions before 2026-07-28. Its id is that of the input, so that whichever
 * node gets the answer knows what it is for.
 */
export function toElicitRequest(inputId: string, elicitation: Elicitation): object {
  const params = elicitation.mode === 'url' ? { ...elicitation, elicitationId: inputId } : elicitation
  return { jsonrpc: '2.0', id: `${PREFIX}${inputId}`, method: 'elicitation/create', params }
}

/** The input that a response answers; undefined if it is none. */
export function inputOf({
  id,
  result,
  error
}: Message): { readonly inputId: string; readonly result: unknown } | undefined {
  if (typeof id !== 'string' || !id.startsWith(PREFIX)) return undefined
  // A client that cannot show a form has not answered.
  return { inputId: id.slice(PREFIX.length), result: error === undefined ? result : { action: 'cancel' } }
}
