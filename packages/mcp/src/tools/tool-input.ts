import type { RunInput, Runnable } from '@svc/contract'

/** The schema of an object, as tools have it. */
export interface ObjectSchema {
  readonly type: 'object'
  readonly [keyword: string]: unknown
}

/** What a call asks of a run. */
export interface ToolInput {
  readonly input: RunInput
  readonly sessionId?: string
}

const MESSAGE = { type: 'string', description: 'The question or task, with all that it needs to know' }
const SESSION_ID = {
  type: 'string',
  minLength: 1,
  maxLength: 128,
  description: 'An id of your choice: calls with the same one are one conversation'
}

/** The schema of the arguments of a tool: a message, or the input of the runnable, in `input` unless it is an object. */
export function inputSchemaOf({ inputSchema, takesTurns }: Runnable): ObjectSchema {
  if (inputSchema !== undefined) {
    const schema = toPlain(inputSchema)
    if (isObjectSchema(schema)) return schema
    return { type: 'object', properties: { input: schema }, required: ['input'], additionalProperties: false }
  }
  return {
    type: 'object',
    properties: { message: MESSAGE, ...(takesTurns === true && { sessionId: SESSION_ID }) },
    required: ['message'],
    additionalProperties: false
  }
}

/** The input of a run from the arguments of a call; arguments that do not fit become an input that the engine refuses. */
export function toRunInput(
  { inputSchema, takesTurns }: Runnable,
  args: Readonly<Record<string, unknown>> = {}
): ToolInput {
  if (inputSchema !== undefined) return { input: isObjectSchema(toPlain(inputSchema)) ? args : args['input'] }
  const { message, sessionId } = args
  return { input: message, ...(takesTurns === true && typeof sessionId === 'string' && { sessionId }) }
}

/** True if a JSON Schema is one of objects. */
export function isObjectSchema(schema: unknown): schema is ObjectSchema {
  return (schema as { type?: unknown } | null | undefined)?.type === 'object'
}

// A schema may have symbols and functions of its library.
function toPlain(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema))
}
