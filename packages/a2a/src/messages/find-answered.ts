import type {
  ApprovalAnswer,
  FoundInput,
  InputAnswer,
  InputKind,
  InputSummary,
  RunSummary
} from '@svc/registry'
import { LISTED_KINDS, mayAnswer, requireAnswer } from '@svc/registry/kit'
import type { Call } from '../model/requests.ts'
import type { Surface } from '../service/surface.ts'
import { badParams } from '../wire/decode-params.ts'
import type { GivenAnswer } from './read-answer.ts'

/** A valid answer and its input. */
export interface Answered {
  readonly inputId: string
  readonly answer: ApprovalAnswer | InputAnswer
}

/**
 * The pending input of a task that a message answers, with the answer, which fits it; undefined for a text that answers none: while
 * several wait, or that is no word for an approval, or to a question whose answer is no text.
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
  const answer = 'text' in given ? fromText(found, given.text) : given.answer
  if (answer === undefined) return undefined
  if (!(await mayAnswer(surface, run, found.kind, principal))) throw notPending(found.kind)
  await requireAnswer(found, answer)
  return { inputId: found.inputId, answer: answer as ApprovalAnswer | InputAnswer }
}

/** True if a run waits for a single answer, and that is a text. */
export function asksForText(run: RunSummary): boolean {
  const found = onlyOne(run)
  return found?.kind === 'question' && isTextual(found.schema)
}

function onlyOne({ waiting: { approvals, inputs } }: RunSummary): InputSummary | undefined {
  return approvals.count + inputs.count === 1 ? (approvals.first[0] ?? inputs.first[0]) : undefined
}

async function findPending(
  { runs }: Surface,
  { runId }: RunSummary,
  { list, inputId }: Exclude<GivenAnswer, { text: string }>
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

function fromText({ kind, schema }: InputSummary, text: string): ApprovalAnswer | InputAnswer | undefined {
  if (kind === 'approval')
    return text === 'approve' || text === 'deny' ? { approved: text === 'approve' } : undefined
  return kind === 'question' && isTextual(schema) ? { action: 'accept', content: text } : undefined
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
