import {
  RUNNABLE_KINDS,
  type Awaitable,
  type Principal,
  type RunInput,
  type Runnable,
  type RunnableKind
} from '@svc/contract'
import type { Exposed } from '@svc/surface'
import { isHashed, toClientName, type Tool } from '../protocol/message.ts'
import type { Surface } from '../surface.ts'

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
function inputSchemaOf({ inputSchema, takesTurns }: Runnable): ObjectSchema {
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

type Named = Pick<Runnable, 'kind' | 'name'>

/** Kinds whose name is a part of the name of the tool. */
const PREFIXED: readonly RunnableKind[] = RUNNABLE_KINDS.filter((kind) => kind !== 'agent')

/** The name of the tool that runs a runnable: `writer`, `team_newsroom`. */
export function toToolName({ kind, name }: Named): string {
  if (kind !== 'agent') return toClientName(`${kind}_${name}`, true, [kind, name])
  const isClear = !PREFIXED.some((prefix) => name.startsWith(`${prefix}_`))
  return toClientName(name, isClear, [kind, name])
}

/** The name that the tool of a runnable had in earlier versions: `writer`, `team.newsroom`. */
export function toDottedName({ kind, name }: Named): string {
  return kind === 'agent' ? name : `${kind}.${name}`
}

/** The runnable of a tool, by its name or by its earlier one; an agent whose name looks like the earlier one of a team comes first. */
export async function findRunnable(
  exposed: Pick<Exposed, 'find' | 'list'>,
  tool: string
): Promise<Runnable | undefined> {
  const agent = await exposed.find('agent', tool)
  if (agent !== undefined && toToolName(agent) === tool) return agent
  const prefixed = await findPrefixed(exposed, tool, '_')
  if (prefixed !== undefined && toToolName(prefixed) === tool) return prefixed
  const hashed = isHashed(tool) ? exposed.list().find((each) => toToolName(each) === tool) : undefined
  return hashed ?? agent ?? findPrefixed(exposed, tool, '.')
}

function findPrefixed(
  exposed: Pick<Exposed, 'find'>,
  tool: string,
  separator: '_' | '.'
): Awaitable<Runnable | undefined> {
  const place = tool.indexOf(separator)
  const kind = tool.slice(0, Math.max(place, 0)) as RunnableKind
  if (!PREFIXED.includes(kind) || place + 1 === tool.length) return undefined
  return exposed.find(kind, tool.slice(place + 1))
}

/** The tools that a caller may see: one for each exposed runnable that the caller may read. */
export async function listTools(surface: Surface, principal: Principal): Promise<Tool[]> {
  const tools: Tool[] = []
  for (const runnable of surface.exposed.list()) {
    const { kind, name } = runnable
    const { allowed } = await surface.policy.authorize(principal, 'read', { kind, name })
    if (allowed) tools.push(toTool(runnable))
  }
  return tools
}

function toTool(runnable: Runnable): Tool {
  const name = toToolName(runnable)
  const { description, card, kind } = runnable
  const { output } = runnable.describe()
  // A name that had to be changed is shown as it is.
  const title = card?.title ?? (isHashed(name) ? runnable.name : undefined)
  return {
    name,
    ...(title !== undefined && { title }),
    description: description ?? `The ${kind} "${runnable.name}"`,
    inputSchema: inputSchemaOf(runnable),
    ...(isObjectSchema(output) && { outputSchema: output }),
    ...(card?.iconUrl !== undefined && { icons: [{ src: card.iconUrl }] }),
    annotations: { ...(title !== undefined && { title }), openWorldHint: true }
  }
}
