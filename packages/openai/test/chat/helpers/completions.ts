import type {
  ChatCompletionMessageParam,
  ChatCompletionFunctionTool
} from 'openai/resources/chat/completions'
import { locate } from '../../helpers/agents.ts'

const { type, strict: _, ...called } = locate

/** A tool that the client serves. */
export const locateTool: ChatCompletionFunctionTool = { type, function: called }

/** The same for `runTools` of the SDK, which calls a function. */
export function servedTool(serve: (args: { exact: boolean }) => unknown) {
  const { name, description, parameters } = locate
  const parse = (json: string) => JSON.parse(json) as { exact: boolean }
  return { type: 'function' as const, function: { name, description, parameters, parse, function: serve } }
}

/** A conversation of one message. */
export function said(content: string): ChatCompletionMessageParam[] {
  return [{ role: 'user', content }]
}

/** Sends any body to the route of completions. */
export function postCompletion(
  { baseURL }: { baseURL: string },
  body: unknown,
  headers: Record<string, string> = { 'content-type': 'application/json' }
): Promise<Response> {
  return fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : JSON.stringify(body)
  })
}
