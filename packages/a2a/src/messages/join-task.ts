import type { Runnable, RunSummary, StoredTask } from '@svc/contract'
import { A2A_ERR_CONTENT_TYPE, A2A_ERR_TASK_NOT_FOUND, A2A_ERR_UNSUPPORTED } from '../errors.ts'
import { hasPart, haveCommon } from '../model/media-types.ts'
import type { Message, MessagePart } from '../model/message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { requireMayRun, toInput } from './choose-agent.ts'
import {
  hasMessage,
  keepMessage,
  requireCapacity,
  toStartKey,
  toTaskMessage,
  withoutBytes,
  type TaskMessage
} from './task-messages.ts'

type Agent = Pick<Runnable, 'name' | 'card'>

/** Checks that an agent takes each part of a message. @throws A2A_ERR_CONTENT_TYPE */
export function requireInputModes(
  { inputModes }: Pick<Surface, 'inputModes'>,
  { name, card }: Agent,
  parts: readonly MessagePart[]
): void {
  const modes = card?.inputModes ?? inputModes
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!
    if (hasPart(modes, part)) continue
    const type = part.mediaType ?? ('data' in part ? 'application/json' : 'text/plain')
    const given = JSON.stringify(type.slice(0, 100))
    throw unsupported(`message.parts.${index}`, `the agent "${name}" takes ${modes.join(', ')}, not ${given}`)
  }
}

/** Checks that an agent has an output that the client accepts. @throws A2A_ERR_CONTENT_TYPE */
export function requireOutputModes(
  { outputModes }: Pick<Surface, 'outputModes'>,
  { name, card }: Agent,
  { acceptedOutputModes: accepted }: Pick<SendRequest, 'acceptedOutputModes'>
): void {
  const modes = card?.outputModes ?? outputModes
  if (accepted === undefined || haveCommon(modes, accepted)) return
  throw unsupported('configuration.acceptedOutputModes', `the agent "${name}" makes ${modes.join(', ')}`)
}

function unsupported(field: string, description: string): Error {
  const errors = [{ field, description }]
  return Object.assign(new A2A_ERR_CONTENT_TYPE(`${field}: ${description}`), { errors })
}

/** A working task, and the message that is to join it. */
interface Joining {
  readonly run: RunSummary
  readonly known: StoredTask | undefined
  readonly given: TaskMessage
}

/**
 * Has a message join a working task; undefined if the task reads no more messages.
 * @throws A2A_ERR_UNSUPPORTED if no message can join tasks of its agent, A2A_ERR_FORBIDDEN, A2A_ERR_CONTENT_TYPE, RUN_ERR_WHEN_BUSY
 */
export async function joinTask(
  surface: Surface,
  call: Call,
  { message }: SendRequest,
  { run, known, given }: Joining
): Promise<RunSummary | undefined> {
  const { runId } = run
  const agent = await surface.exposed.find(run.name)
  if (agent?.steerable !== true) throw new A2A_ERR_UNSUPPORTED('the task is not waiting for a message')
  await requireMayRun(surface, call, agent)
  requireInputModes(surface, agent, message.parts)
  requireCapacity((known?.messages ?? []) as Message[])
  const startKey = toStartKey(message, surface, call)
  const { redact } = call.keyed
  if (!(await surface.runs.steer(runId, toInput(message.parts, agent), { startKey, redact })))
    return undefined
  await keepMessage(surface, run, known, given)
  return requireRun(surface, runId)
}

/** The task that the message of a start has joined, with the message in its history. */
export async function joinedTask(
  surface: Surface,
  call: Call,
  runId: string,
  message: Message
): Promise<RunSummary> {
  const run = await requireRun(surface, runId)
  const given = toTaskMessage(surface, call, message, withoutBytes(message))
  const known = await surface.tasks.get(runId)
  if (hasMessage((known?.messages ?? []) as Message[], given)) return run
  await keepMessage(surface, run, known, given)
  return run
}

/** The record of a run. @throws A2A_ERR_TASK_NOT_FOUND */
export async function requireRun({ runs }: Pick<Surface, 'runs'>, runId: string): Promise<RunSummary> {
  const run = await runs.find(runId)
  if (run === undefined) throw new A2A_ERR_TASK_NOT_FOUND()
  return run
}
