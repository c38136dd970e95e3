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
import { waitingState } from '../tasks/task-state.ts'
import { badParams } from '../wire/decode-params.ts'
import { contentOfText } from './content-of-text.ts'
import type { GivenAnswer, TextAnswer } from './read-answer.ts'

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
