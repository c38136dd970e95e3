import type {
  ApprovalAnswer,
  FoundInput,
  InputAnswer,
  InputKind,
  InputSummary,
  RunSummary
} from '@svc/contract'
import { LISTED_KINDS, mayAnswer, requireAnswer } from '@svc/surface'
import type { Call } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { waitingState } from '../tasks/task-state.ts'
import { badParams } from '../wire/decode-params.ts'
import type { GivenAnswer, TextAnswer } from './read-answer.ts'

/** What a text says as the content of an answer. */
interface TextContent {
  readonly content: unknown
}

/**
 * The content that a text gives to a question with this schema. Where only texts fit, or anything does, it is the text itself, which may
 * not fit. Else it is the first of these that fits, or undefined: the text, what it is as JSON, yes or no as a boolean, and each of
 * them as the only property that an object may have.
 */
async function contentOfText(text: string, schema: unknown): Promise<TextContent | undefined> {
  if (isTextual(schema)) return { content: text }
  // Loaded lazily: few services need its pattern engine.
  const { compileForeignSchema } = await import('@svc/contract/schemas')
  const { check } = compileForeignSchema(schema)
  const readings = readingsOf(text)
  const name = onlyPropertyOf(schema)
  const all = name === undefined ? readings : [...readings, ...readings.map((value) => ({ [name]: value }))]
  const content = all.find((value) => check(value) === undefined)
  return content === undefined ? undefined : { content }
}

const WORDS = new Map<string, boolean>([
  ['yes', true],
  ['no', false],
  ['true', true],
  ['false', false]
])

function readingsOf(text: string): unknown[] {
  const readings: unknown[] = [text]
  try {
    readings.push(JSON.parse(text))
  } catch {}
  const word = WORDS.get(text.trim().toLowerCase())
  if (word !== undefined) readings.push(word)
  return readings
}

function onlyPropertyOf(schema: unknown): string | undefined {
  const { type, properties } = schema as { type?: unknown; properties?: unknown }
  if (type !== 'object' || typeof properties !== 'object' || properties === null) return undefined
  const [name, another] = Object.keys(properties)
  return another === undefined && name !== '__proto__' ? name : undefined
}

/** True if all values that fit a schema are texts, or if there is no schema. */
function isTextual(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return schema === undefined || schema === true
  const { type, const: only, enum: some, anyOf, oneOf } = schema as Record<string, unknown>
  const branches = anyOf ?? oneOf
  return (
    type === 'string' ||
    typeof only === 'string' ||
    (Array.isArray(some) && some.every((each) => typeof each === 'string')) ||
    (Array.isArray(branches) && branches.every(isTextual))
  )
}

/** A valid answer and its input. */
export interface Answered {
  readonly inputId: string
  readonly answer: ApprovalAnswer | InputAnswer
}

/**
 * The pending input of a task that a message answers, with the answer, which fits it; undefined for a text that answers none: while
 * several wait, or that is no word for an approval, or does not fit a question whose answer need not be a text.
 * @throws A2A_ERR_BAD_PARAMS, RUN_ERR_BAD_INPUT
 */
export async function findAnswered(
  surface: Surface,
  { principal }: Call,
  run: RunSummary,
  given: GivenAnswer
): Promise<Answered | undefined> {
  const found = 'text' in given ? onlyOne(run) : await findPending(surface, run, given)
  if (found === undefined) return undefined
  const answer = 'text' in given ? await fromText(found, given) : given.answer
  if (answer === undefined) return undefined
  if (!(await mayAnswer(surface, run, found.kind, principal))) throw notPending(found.kind)
  await requireAnswer(found, answer)
  return { inputId: found.inputId, answer: answer as ApprovalAnswer | InputAnswer }
}

/** True if a run waits for a single answer, which this text is, or for credentials, which it may be meant for. */
export async function takesText(run: RunSummary, text: string): Promise<boolean> {
  if (waitingState(run.waiting.inputs.first) === 'auth-required') return true
  const found = onlyOne(run)
  return found?.kind === 'question' && (await contentOfText(text, found.schema)) !== undefined
}

function onlyOne({ waiting: { approvals, inputs } }: RunSummary): InputSummary | undefined {
  return approvals.count + inputs.count === 1 ? (approvals.first[0] ?? inputs.first[0]) : undefined
}

async function findPending(
  { runs }: Surface,
  { runId }: RunSummary,
  { list, inputId }: Exclude<GivenAnswer, TextAnswer>
): Promise<InputSummary> {
  const found: FoundInput | undefined = await runs.findInput(inputId)
  const kinds: readonly InputKind[] = LISTED_KINDS[list]
  if (found?.run.runId !== runId || found.input.answer !== null || !kinds.includes(found.input.kind))
    throw notPending(list === 'approvals' ? 'approval' : 'question')
  return found.input
}

function notPending(kind: InputKind): Error {
  return badParams('message.parts', `No such ${kind === 'approval' ? 'approval' : 'input'} is pending`)
}

async function fromText(
  { kind, schema }: InputSummary,
  { text, isExact }: TextAnswer
): Promise<ApprovalAnswer | InputAnswer | undefined> {
  if (kind === 'approval')
    return isExact && (text === 'approve' || text === 'deny') ? { approved: text === 'approve' } : undefined
  // Credentials are never a text: they would be taken for one by a client that converses.
  if (kind !== 'question') return undefined
  const given = await contentOfText(text, schema)
  return given && { action: 'accept', ...given }
}
