import type { ResponseParameters } from '../wire/response-object.ts'
import { functionsOf, type FunctionTool, type ResponseBody, type TextFormat } from './response-schemas.ts'

/** Parameters that a response repeats as they are. */
const REPEATED = [
  'background',
  'frequency_penalty',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'parallel_tool_calls',
  'presence_penalty',
  'previous_response_id',
  'prompt_cache_key',
  'safety_identifier',
  'service_tier',
  'store',
  'temperature',
  'tool_choice',
  'top_logprobs',
  'top_p',
  'truncation',
  'user'
] as const satisfies (keyof ResponseBody)[]

/** What the response to a request repeats of it. */
export function toParameters(body: ResponseBody): ResponseParameters {
  const parameters: Record<string, unknown> = {}
  for (const name of REPEATED)
    if (body[name] !== undefined && body[name] !== null) parameters[name] = body[name]
  const { text, reasoning } = body
  const tools = functionsOf(body)
  if (tools) parameters['tools'] = tools.map(toTool)
  if (text) parameters['text'] = { ...text, format: toFormat(text.format) }
  if (reasoning) parameters['reasoning'] = { effort: null, summary: null, ...reasoning }
  return parameters
}

function toTool({ type, name, description = null, parameters = null, strict = null }: FunctionTool): object {
  return { type, name, description, parameters, strict }
}

function toFormat(format: TextFormat | null | undefined): object {
  if (format?.type !== 'json_schema') return { type: format?.type ?? 'text' }
  const { type, name = 'answer', description = null, schema = null, strict } = format
  return { type, name, description, schema, strict: strict ?? false }
}
