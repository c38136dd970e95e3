import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  ANONYMOUS,
  defined,
  isTerminalStatus,
  randomId,
  type RunSummary,
  type StartKey,
  type StoredTask
} from '@svc/contract'
import { A2A_ERR_UNSUPPORTED } from '../errors.ts'
import type { Message, MessagePart } from '../model/message.ts'
import type { Call, SendRequest } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { waitingState } from '../tasks/task-events.ts'
import { badParams } from '../wire/decode-params.ts'
import { textOf } from './choose-agent.ts'

/**
 * A message as tasks keep it: its files have a hash and a size in their metadata instead of their bytes, which only the file store of
 * the run may have.
 */
export function withoutBytes(message: Message): Message {
  const { parts } = message
  return parts.some(hasBytes) ? { ...message, parts: parts.map(toReference) } : message
}

/** True for a file that is given by its bytes. */
function hasBytes(part: MessagePart): part is Extract<MessagePart, { raw: string }> {
  return 'raw' in part
}

function toReference(part: MessagePart): MessagePart {
  if (!hasBytes(part)) return part
  const bytes = Buffer.from(part.raw, 'base64')
  const reference = { sha256: hash('sha256', bytes, 'hex'), size: bytes.length }
  return { ...part, raw: '', metadata: { ...part.metadata, ...reference } }
}

/**
 * What a task keeps of a message to it: no bytes, and nothing that may be a secret. Of an answer with credentials those are its `inputId`
 * and its action, and of any other message while the task waits for credentials its id.
 */
export async function toKeptMessage(
  { runs }: Surface,
  run: RunSummary,
  message: Message,
  answer: GivenAnswer | undefined
): Promise<Message> {
  if (answer !== undefined && 'inputId' in answer) {
    const { inputId } = answer
    const found = await runs.findInput(inputId)
    if (found?.run.runId !== run.runId || found.input.kind !== 'auth') return withoutBytes(message)
    const { action } = answer.answer
    return { ...withoutContent(message), parts: [{ data: { inputId, action } }] }
  }
  return waitingState(run.waiting.inputs.first) === 'auth-required'
    ? withoutContent(message)
    : withoutBytes(message)
}

/** A message without what it says. Its id stays, so that it is accepted once; histories leave it out. */
export function withoutContent({ messageId, role, taskId, contextId }: Message): Message {
  return { messageId, role, ...defined({ taskId, contextId }), parts: [] }
}

/** A message without its caller's keys for model providers; ids stay as they are. */
export function withoutKeys(message: Message, { keyed: { redact } }: Pick<Call, 'keyed'>): Message {
  if (redact === undefined) return message
  const { parts, metadata } = message
  return { ...message, parts: redact(parts), ...(metadata && { metadata: redact(metadata) }) }
}

/** Requests up to this many characters are compared as they are: as cheap to store as a hash, and faster to make. */
const MAX_PLAIN = 256

/** The content is part of the key, so that every other message is another start. */
const CONTENT_IS_IN_KEY = ''

/**
 * The start key of a message, which it shares with its repetitions: its id, context, task, content and tenant. Messages without an id
 * have none, nor have those of anonymous callers, who are many and number their messages alike.
 */
export function toStartKey(
  { messageId, ...message }: SendRequest['message'],
  { tenant, runs, dedupeWindow }: Pick<Surface, 'tenant' | 'runs' | 'dedupeWindow'>,
  { principal, keyed }: Pick<Call, 'principal' | 'keyed'>
): StartKey | undefined {
  if (messageId === undefined || dedupeWindow === 0 || principal.sub === ANONYMOUS.sub) return undefined
  const json = JSON.stringify({ ...message, tenant })
  const isPlain =
    json.length <= MAX_PLAIN && runs.record.input && !message.parts.some(hasBytes) && !hasKey(message, keyed)
  const content = isPlain ? json : hash('sha256', json, 'base64url')
  return { key: `a2a:${messageId}:${content}`, hash: CONTENT_IS_IN_KEY }
}

/** True if a message is the repetition of one that started a run of the owner. */
export async function hasStarted(
  surface: Pick<Surface, 'tenant' | 'runs' | 'dedupeWindow'>,
  call: Pick<Call, 'principal' | 'keyed'>,
  message: SendRequest['message'],
  { registry, owner }: Pick<RunSummary, 'registry' | 'owner'>
): Promise<boolean> {
  const startKey = toStartKey(message, surface, call)
  if (startKey === undefined) return false
  return (await surface.runs.stores.runs.findStarted({ registry, owner, startKey })) !== undefined
}

/** True once a repetition of the message that began the run is a message of its own. */
export function isTooOldToRepeat(
  { status, createdAt }: Pick<RunSummary, 'status' | 'createdAt'>,
  { dedupeWindow }: Pick<Surface, 'dedupeWindow'>
): boolean {
  return isTerminalStatus(status) && Date.now() - createdAt >= dedupeWindow
}

/** A message with an id: its own, or a new one. */
export function withId(message: SendRequest['message']): Message {
  return message.messageId === undefined ? { ...message, messageId: randomId() } : (message as Message)
}

// A redacted value is another object only if a key was in it.
function hasKey(message: object, { redact }: Call['keyed']): boolean {
  return redact !== undefined && redact(message) !== message
}

/** Messages of a task, and characters of their JSON, after which it accepts answers only. */
const MAX_MESSAGES = 100
const MAX_SIZE = 4_194_304

/** The key under which a task stores its first message. */
export function firstKeyOf(taskId: string): string {
  return `first ${taskId}`
}

/** A message to a task, as the task stores it. */
export interface TaskMessage {
  readonly stored: Message
  /** The same for a repetition of the message; else unique. */
  readonly key: string
  /** True if a repetition of the message is the same message. */
  readonly isRepeatable: boolean
}

/** Prepares a message for its task. @param stored the message without what is not stored of it */
export function toTaskMessage(
  surface: Surface,
  call: Call,
  message: SendRequest['message'],
  stored: Message
): TaskMessage {
  const startKey = toStartKey(message, surface, call)
  return {
    stored: withoutKeys(stored, call),
    key: startKey?.key ?? randomId(),
    isRepeatable: startKey !== undefined
  }
}

/** Adds a message to its task; false if it is there already. A run of another surface becomes a task with its first message. */
export async function keepMessage(
  { tasks }: Surface,
  { runId: taskId, sessionId: contextId, registry, owner, name: agentName, createdAt }: RunSummary,
  known: StoredTask | undefined,
  { key, stored }: TaskMessage
): Promise<boolean> {
  if (known !== undefined) return tasks.addMessage(taskId, key, stored)
  const task = { taskId, contextId, registry, owner, agentName, createdAt, messages: [stored] }
  return (await tasks.create(task, key)) === taskId
}

/** True if a task has the message already: it is repeated. */
export function hasMessage(messages: readonly Message[], { stored, isRepeatable }: TaskMessage): boolean {
  return isRepeatable && messages.some((each) => isDeepStrictEqual(each, stored))
}

/** Every history of the task repeats its messages. @throws A2A_ERR_UNSUPPORTED */
export function requireCapacity(messages: readonly Message[]): void {
  const size = JSON.stringify(messages).length
  if (messages.length >= MAX_MESSAGES || size >= MAX_SIZE)
    throw new A2A_ERR_UNSUPPORTED('the task has too many messages: it accepts only an answer')
}

/** The text of a message; exact if it is the only part, and nothing is said about it. */
export interface TextAnswer {
  readonly text: string
  readonly isExact: boolean
}

/** A message that may be an answer: its text, or data that names the input. Its values are not checked yet. */
export type GivenAnswer =
  | TextAnswer
  | { list: 'approvals' | 'inputs'; inputId: string; answer: Record<string, unknown> }

const FORMS = {
  approvals: {
    id: 'approvalId',
    decides: 'approved',
    fields: new Set(['approvalId', 'approved', 'reason', 'args'])
  },
  inputs: { id: 'inputId', decides: 'action', fields: new Set(['inputId', 'action', 'content']) }
} as const

/**
 * Reads a message as an answer: text parts, apart from thoughts of the client's model, or a single part with data of the form
 * `{ approvalId, approved, reason?, args? }` or `{ inputId, action, content? }`. In doubt a message is no answer.
 * @throws A2A_ERR_BAD_PARAMS
 */
export function readAnswer(parts: readonly MessagePart[]): GivenAnswer | undefined {
  const [part, another] = parts
  if (part === undefined) return undefined
  const isExact = another === undefined && !isAttached(part) && Object.keys(part.metadata ?? {}).length === 0
  if ('data' in part) return isExact ? fromData(part.data) : undefined
  const said = parts.filter((each) => !isThought(each))
  if (said.length === 0 || !said.every((each) => 'text' in each && !isAttached(each))) return undefined
  return { text: textOf(said), isExact }
}

// The content of a file is not a statement of its sender.
function isAttached({ filename, mediaType, ...content }: MessagePart): boolean {
  const type = 'text' in content ? 'text/plain' : 'application/json'
  return filename !== undefined || (mediaType ?? type) !== type
}

// As agents mark them that are clients.
function isThought({ metadata = {} }: MessagePart): boolean {
  return metadata['thought'] === true || metadata['adk_thought'] === true
}

function fromData(data: unknown): GivenAnswer | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  for (const list of ['approvals', 'inputs'] as const) {
    const { id, decides, fields } = FORMS[list]
    const { [id]: inputId, ...answer } = data as Record<string, unknown>
    if (inputId === undefined || Object.keys(data).some((name) => !fields.has(name))) continue
    if (typeof answer[decides] !== (list === 'approvals' ? 'boolean' : 'string')) continue
    if (typeof inputId !== 'string') throw badParams('message.parts', `Expected string as ${id}`)
    return { list, inputId, answer }
  }
  return undefined
}
