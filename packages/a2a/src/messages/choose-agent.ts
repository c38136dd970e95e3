import {
  defined,
  type Awaitable,
  type ContentPart,
  type RunInput,
  type Runnable,
  type StoredTask
} from '@svc/contract'
import { requireAllowed } from '@svc/surface'
import { A2A_ERR_UNSUPPORTED } from '../errors.ts'
import { errors } from '../surface-errors.ts'
import type { MessagePart } from '../model/message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import { repliesByMessage, type Surface } from '../service/surface.ts'
import { refuseAgent } from '../service/tenant.ts'
import { badParams } from '../wire/decode-params.ts'

/**
 * The input for the parts of a message: a text if all parts are text, else content parts. A runnable with an input schema gets
 * the data of a single data part.
 */
export function toInput(parts: readonly MessagePart[], { inputSchema }: Runnable): RunInput {
  const [first] = parts
  if (inputSchema !== undefined && parts.length === 1 && first !== undefined && 'data' in first)
    return first.data
  if (parts.every((part) => 'text' in part)) return textOf(parts)
  return parts.map(toContentPart)
}

/** The text parts, joined by newlines. */
export function textOf(parts: readonly MessagePart[]): string {
  const [first] = parts
  if (parts.length === 1 && first !== undefined && 'text' in first) return first.text
  return parts
    .filter((part) => 'text' in part)
    .map(({ text }) => text)
    .join('\n')
}

function toContentPart(part: MessagePart): ContentPart {
  if ('text' in part) return { type: 'text', text: part.text }
  if ('data' in part) return { type: 'text', text: JSON.stringify(part.data) }
  const mimeType = part.mediaType || 'application/octet-stream'
  const about = { mimeType, ...defined({ filename: part.filename }) }
  const [family] = mimeType.split('/', 1)
  const type = family === 'image' || family === 'audio' ? family : 'file'
  return 'raw' in part ? { type, ...about, data: part.raw } : { type, ...about, url: part.url }
}

/** The agent that the metadata of a message, or of its request, names. @throws A2A_ERR_BAD_PARAMS */
export function readAgentName({ message, metadata }: SendRequest): string | undefined {
  const name = message.metadata?.['agentName'] ?? metadata?.['agentName']
  if (name !== undefined && typeof name !== 'string')
    throw badParams('message.metadata.agentName', 'Expected string')
  return name
}

/**
 * The agent of a new task: the named one, else the one that the text mentions, else that of the context's last task, else the
 * first.
 * @throws A2A_ERR_BAD_PARAMS, A2A_ERR_UNSUPPORTED
 */
export function chooseAgent(
  surface: Surface,
  call: Call,
  request: SendRequest,
  findLast: FindLast | undefined
): Awaitable<Runnable> {
  const all = surface.exposed.all()
  const named = readAgentName(request)
  if (named !== undefined) return requireNamed(surface, named, all)
  const [first] = all
  if (first === undefined) throw new A2A_ERR_UNSUPPORTED('no agent is exposed')
  return all.length === 1 ? first : chooseOfSeveral(surface, call, request, findLast, first)
}

async function requireNamed({ exposed }: Surface, name: string, all: readonly Runnable[]): Promise<Runnable> {
  return (await exposed.find(name)) ?? refuseAgent('message.metadata.agentName', name, all)
}

async function chooseOfSeveral(
  surface: Surface,
  call: Call,
  { message: { parts, contextId } }: SendRequest,
  findLast: FindLast | undefined,
  first: Runnable
): Promise<Runnable> {
  const { exposed } = surface
  const mentioned = await exposed.mentionedIn(textOf(parts))
  if (mentioned !== undefined || contextId === undefined || findLast === undefined) return mentioned ?? first
  const last = await lastOfContext(surface, call, contextId, findLast)
  return (last === undefined ? undefined : await exposed.find(last)) ?? first
}

/** Finds the last task of a message's context. */
export type FindLast = () => Awaitable<StoredTask | undefined>

/** Finds the last task of a context, looking it up once. */
export function lastTaskOf({ exposed, tasks }: Surface, { principal }: Call, contextId: string): FindLast {
  let found: Awaitable<StoredTask | undefined>
  return () => (found ??= tasks.lastOfContext(exposed.registries(), principal.sub, contextId))
}

// A message alone leaves no task, but a run.
async function lastOfContext(
  surface: Surface,
  { principal: { sub: owner } }: Call,
  contextId: string,
  findLast: FindLast
): Promise<string | undefined> {
  const { exposed, runs } = surface
  if (!exposed.all().some((agent) => repliesByMessage(surface, agent))) return (await findLast())?.agentName
  const scope = exposed.scope()
  const page = await runs.stores.runs.listChanged({ owner, scope, sessionId: contextId, limit: 1 })
  return page.runs[0]?.name
}

/** @throws A2A_ERR_FORBIDDEN unless the policy allows the caller to run the agent */
export function requireMayRun(
  { policy }: Pick<Surface, 'policy'>,
  { principal }: Call,
  { kind, name }: Pick<Runnable, 'kind' | 'name'>
): Awaitable<void> {
  return requireAllowed({ policy, errors }, principal, 'run', { kind, name })
}
