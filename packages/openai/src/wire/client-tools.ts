import type { ClientTool, ToolChoice } from '@svc/contract'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED } from '../errors.ts'

/** A function of a client, of Responses or of Chat Completions. */
interface GivenFunction {
  readonly name?: string | undefined
  readonly description?: string | null | undefined
  readonly parameters?: Readonly<Record<string, unknown>> | null | undefined
}
export type GivenTool = GivenFunction & { readonly type: string }

/** The tools of a request, and what it says of their use. */
interface ToolUse {
  readonly tools?: ClientTool[]
  readonly toolChoice?: ToolChoice
}

/** A choice that is an object: the fields of Chat Completions are a level below those of Responses. */
interface GivenChoice {
  readonly type?: unknown
  readonly name?: unknown
  readonly function?: { readonly name?: unknown } | null
  readonly mode?: unknown
  readonly tools?: unknown
  readonly allowed_tools?: { readonly mode?: unknown; readonly tools?: unknown } | null
}

const NO_ARGUMENTS = { type: 'object', properties: {} }

/**
 * What a run is given of the tools of a request. `none` leaves out the client's tools; those of the agent stay.
 * @throws OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED
 */
export function toToolUse(given: readonly GivenTool[] | null | undefined, choice: unknown): ToolUse {
  const tools = given?.length ? given.map(toClientTool) : undefined
  const all = tools && { tools }
  switch (choice) {
    case undefined:
    case null:
    case 'auto':
      return { ...all }
    case 'none':
      return {}
    case 'required':
      return { ...all, toolChoice: 'required' }
    default:
      return toChosen(tools, readObject(choice))
  }
}

function toChosen(tools: ClientTool[] | undefined, choice: GivenChoice): ToolUse {
  const { type } = choice
  if (type === 'function' || type === 'mcp') {
    const name = choice.name ?? choice.function?.name
    if (typeof name !== 'string' || name === '') throw badChoice('must have the name of a tool')
    return { ...(tools && { tools }), toolChoice: { toolName: name } }
  }
  if (type !== 'allowed_tools')
    throw new OPENAI_ERR_UNSUPPORTED(`tool_choice of the type ${JSON.stringify(type ?? null)}`)
  const { mode = 'auto', tools: allowed } = choice.allowed_tools ?? choice
  if ((mode !== 'auto' && mode !== 'required') || !Array.isArray(allowed))
    throw badChoice('must have a list of tools, and the mode "auto" or "required"')
  const names = new Set(allowed.map((each) => nameOf(readObject(each))))
  const left = tools?.filter(({ name }) => names.has(name))
  return { ...(left?.length && { tools: left }), ...(mode === 'required' && { toolChoice: mode }) }
}

function nameOf({ name, function: called }: GivenChoice): unknown {
  return name ?? called?.name
}

function readObject(choice: unknown): GivenChoice {
  if (typeof choice === 'object' && choice !== null) return choice
  throw badChoice('must be "auto", "none", "required" or an object')
}

function badChoice(fault: string): Error {
  const errors = [{ path: 'tool_choice', message: fault }]
  return Object.assign(new OPENAI_ERR_BAD_REQUEST(`tool_choice ${fault}`), { errors })
}

function toClientTool({ type, name, description, parameters }: GivenTool, index: number): ClientTool {
  if (type !== 'function') throw new OPENAI_ERR_UNSUPPORTED(`tools of the type ${JSON.stringify(type)}`)
  if (name === undefined) throw new OPENAI_ERR_BAD_REQUEST(`tools[${index}] must have a name`)
  // A tool without a schema takes no arguments.
  return {
    name,
    description: description ?? '',
    input: { type: 'object', ...(parameters ?? NO_ARGUMENTS) }
  }
}
