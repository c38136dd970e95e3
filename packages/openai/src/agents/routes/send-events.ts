import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { codeOf, defined, type Runnable, type StartKey } from '@svc/contract'
import { RUN_ERR_NOT_FOUND } from '@svc/contract/errors'
import {
  answerInputs,
  answerOfText,
  cancelActiveRun,
  findTurn,
  requireExposed,
  sendMessage,
  valueOfText
} from '@svc/surface'
import type { FastifyRequest } from 'fastify'
import {
  OPENAI_ERR_BAD_REQUEST,
  OPENAI_ERR_UNKNOWN_APPROVAL,
  OPENAI_ERR_UNKNOWN_CALL,
  OPENAI_ERR_UNSUPPORTED
} from '../../errors.ts'
import type { Surface } from '../../surface.ts'
import { toToolUse } from '../../wire/client-tools.ts'
import { Conversation, toRunInput } from '../../wire/conversation.ts'
import { readContent, textOfContent } from '../../wire/read-content.ts'
import { toFormatInstructions } from '../../wire/response-format.ts'
import { runOfTurn, toText, type TurnContext } from '../projection/turn-projection.ts'
import type { InputMessage, SessionItem } from '../wire/item-schemas.ts'
import { readTurn } from './read-session.ts'
import type { InputEvent } from './request-schemas.ts'

type Asking = Pick<FastifyRequest, 'caller' | 'headers' | 'log'>

/** Distinguishes the events of a request that is sent again from other ones. @throws OPENAI_ERR_BAD_REQUEST */
export function toKey({ headers }: Pick<Asking, 'headers'>): string | undefined {
  const { 'idempotency-key': key } = headers
  if (key === undefined || /^[!-~]{1,255}$/.test(String(key))) return key as string | undefined
  throw new OPENAI_ERR_BAD_REQUEST('Idempotency-Key must have 1–255 visible ASCII characters')
}

/** Sends the events of a client to a session, one after the other. @throws the errors of each kind of event */
export async function sendEvents(
  surface: Surface,
  context: TurnContext,
  events: readonly InputEvent[],
  request: Asking
): Promise<void> {
  for (const [at, event] of events.entries()) requireEvent(event, `events[${at}]`)
  const key = toKey(request)
  for (const [at, event] of events.entries())
    await sendEvent(surface, context, event, key && `${key} ${at}`, request)
}

const FIELDS: Readonly<Record<string, readonly (keyof InputEvent)[]>> = {
  'agent.session.input.message': ['input'],
  'agent.session.input.cancel': [],
  'agent.session.input.tool_result': ['call_id', 'turn_id', 'success'],
  'agent.session.input.mcp_approval_request_result': ['request_id', 'response']
}

// All are checked before the first one has an effect.
function requireEvent(event: InputEvent, param: string): void {
  const { type } = event
  if (type === 'agent.session.input.computer_use_approval_request_result')
    throw new OPENAI_ERR_UNSUPPORTED('computer use')
  if (!Object.hasOwn(FIELDS, type))
    throw new OPENAI_ERR_BAD_REQUEST(`${param}.type is unknown: ${JSON.stringify(type)}`)
  for (const name of FIELDS[type]!)
    if (event[name] === undefined) throw new OPENAI_ERR_BAD_REQUEST(`${param}.${name} is required`)
}

async function sendEvent(
  surface: Surface,
  context: TurnContext,
  event: InputEvent,
  key: string | undefined,
  request: Asking
): Promise<void> {
  switch (event.type) {
    case 'agent.session.input.message':
      return void (await startTurn(surface, context, event.input!, { key, whenBusy: 'steer' }, request))
    case 'agent.session.input.cancel':
      return void (await cancelActiveRun(surface, context.session, request.caller))
    case 'agent.session.input.tool_result':
      return answerCall(surface, context, event, request)
    default:
      return answerApproval(surface, context, event, request)
  }
}

/** How messages are sent. */
interface TurnStart {
  /** Of the request; messages that are sent again with it have no further effect. */
  readonly key: string | undefined
  /** During another turn they join it, or wait for theirs. */
  readonly whenBusy: 'steer' | 'queue'
  /** The runnable of the session, where it is known already that the caller may run it. */
  readonly allowed?: Runnable
}

/**
 * Starts a turn with messages of the user, or has them join the one under way; returns its run.
 * @throws OPENAI_ERR_*, and the errors of `RunEngine.start`
 */
export async function startTurn(
  surface: Surface,
  { session, settings }: TurnContext,
  messages: string | readonly InputMessage[],
  { key, whenBusy, allowed }: TurnStart,
  request: Asking
): Promise<string> {
  const { kind, name } = session
  const runnable = allowed ?? (await requireExposed(surface, kind, name))
  const { instructions, tools, format } = settings
  const texts = [instructions, toFormatInstructions(format, runnable, surface)].filter(Boolean)
  const body = {
    input: toRunInput(joinMessages(messages), runnable),
    ...(texts.length > 0 && { instructions: texts.join('\n\n') }),
    ...toToolUse(tools, undefined)
  }
  const startKey = key === undefined ? undefined : toStartKey(session.sessionId, key, messages)
  const run = await sendMessage(surface, session, body, { whenBusy, startKey, allowed }, request)
  return run.runId
}

function toStartKey(sessionId: string, key: string, sent: unknown): StartKey {
  return {
    key: `agents:${hash('sha256', JSON.stringify([sessionId, key]))}`,
    hash: hash('sha256', JSON.stringify(sent))
  }
}

/** What messages of the user say together. @throws OPENAI_ERR_UNSUPPORTED, OPENAI_ERR_BAD_REQUEST */
export function joinMessages(messages: string | readonly InputMessage[]) {
  if (typeof messages === 'string') return messages
  const conversation = new Conversation()
  for (const [at, { content }] of messages.entries()) {
    for (const { type } of content)
      if (type !== 'input_text' && type !== 'input_image')
        throw new OPENAI_ERR_UNSUPPORTED(`content of the type ${JSON.stringify(type)}`)
    conversation.addUser(readContent(content, `input[${at}].content`))
  }
  return conversation.joinedInput()!
}

/** @throws RUN_ERR_NOT_FOUND, OPENAI_ERR_UNKNOWN_CALL, RUN_ERR_BAD_INPUT, RUN_ERR_STORE */
async function answerCall(
  surface: Surface,
  context: TurnContext,
  { turn_id: turnId = '', call_id: callId = '', success, output, error }: InputEvent,
  { caller }: Asking
): Promise<void> {
  const runId = runOfTurn(turnId)
  const found = await findTurn(surface, context.session, runId, caller)
  if (found === undefined) throw new RUN_ERR_NOT_FOUND(turnId)
  const turn = await readTurn(surface, context, found)
  const given = success ? textOfOutput(output) : null
  const [inputId] =
    [...turn.required].find(
      ([, action]) =>
        action.type === 'function_call' && action.call_id === callId && action.turn_id === turnId
    ) ?? []
  if (inputId === undefined) {
    const everything = [turn.own, ...turn.subagents.map(({ items }) => items)].flatMap(({ items }) => items)
    if (everything.some((item) => isSameOutput(item, callId, given, error ?? null))) return
    throw new OPENAI_ERR_UNKNOWN_CALL(callId)
  }
  // The model is to know why a call failed.
  const text = given ?? (error ? JSON.stringify({ error }) : '')
  const answer =
    given === null && !error
      ? ({ action: 'decline' } as const)
      : await answerOfText(surface.runs, inputId, text)
  const answered = await answerInputs(surface, caller, [{ inputId, answer }])
  if (answered.length > 0) return
  // The same answer came first, from another client or an attempt whose reply was lost: its run may not have logged it yet.
  const { action, content } = (await surface.runs.findInput(inputId))?.input.answer ?? {}
  const isRepeated = isDeepStrictEqual(defined({ action, content }), defined({ ...answer }))
  if (!isRepeated) throw new OPENAI_ERR_UNKNOWN_CALL(callId)
}

// A request that is sent again, since its reply was lost, has no further effect.
function isSameOutput(item: SessionItem, callId: string, output: string | null, error: string | null) {
  if (item.type !== 'function_call_output' || item.call_id !== callId) return false
  if (output !== null) return item.output === output || item.output === toText(valueOfText(output))
  return error === null ? item.output === null : item.output === JSON.stringify({ error })
}

function textOfOutput(output: unknown): string {
  return output === null || output === undefined ? '' : textOfContent(readContent(output, 'output'))
}

const DECISIONS = { approve: true, deny: false, cancel: false } as const

/** @throws OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNKNOWN_APPROVAL, RUN_ERR_STORE */
async function answerApproval(
  surface: Surface,
  { session }: TurnContext,
  { request_id: requestId = '', response }: InputEvent,
  { caller }: Asking
): Promise<void> {
  const { type, decision = '' } = response!
  if (type !== 'mcp_tool_call') throw new OPENAI_ERR_UNSUPPORTED(`a response of the type "${type}"`)
  if (!Object.hasOwn(DECISIONS, decision))
    throw new OPENAI_ERR_BAD_REQUEST('response.decision must be approve, deny or cancel')
  const found = await surface.runs.findInput(requestId)
  const turn = found && (await findTurn(surface, session, found.run.runId, caller))
  if (turn === undefined || found?.input.kind !== 'approval') throw new OPENAI_ERR_UNKNOWN_APPROVAL(requestId)
  const approved = DECISIONS[decision as keyof typeof DECISIONS]
  const answered = await answerInputs(surface, caller, [{ inputId: requestId, answer: { approved } }])
  if (answered.length === 0) {
    const given = (await surface.runs.findInput(requestId))?.input.answer
    if (!given || (given.action === 'accept') !== approved) throw new OPENAI_ERR_UNKNOWN_APPROVAL(requestId)
  }
  if (decision === 'cancel') await cancelTurn(surface, found.run.runId)
}

// The session may have gone on with another turn.
async function cancelTurn({ runs }: Surface, runId: string): Promise<void> {
  try {
    await runs.cancel(runId)
  } catch (err) {
    if (codeOf(err) !== 'RUN_ERR_TERMINAL') throw err
  }
}
