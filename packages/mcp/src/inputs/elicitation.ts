import {
  codeOf,
  type ApprovalAnswer,
  type AskingPart,
  type InputAnswer,
  type Principal,
  type RunLog
} from '@svc/contract'
import { RUN_ERR_INPUT_NOT_FOUND } from '@svc/contract/errors'
import { answerInputs, type GivenAnswer } from '@svc/surface'
import type { Message } from '../protocol/message.ts'
import type { Surface } from '../surface.ts'

/** The parameters of `elicitation/create`: a form, or a page that the user opens. */
export type Elicitation = FormElicitation | UrlElicitation

export interface FormElicitation {
  readonly mode: 'form'
  readonly message: string
  readonly requestedSchema: {
    readonly type: 'object'
    readonly properties: Record<string, object>
    readonly required?: string[]
  }
}

export interface UrlElicitation {
  readonly mode: 'url'
  readonly message: string
  readonly url: string
}

/** The page where the user gives credentials, by the id of the input; undefined if the client opens none. */
export type CredentialsPage = (inputId: string) => string

/** Elicitations by the ids of their inputs, as results that require inputs have them. */
export type InputRequests = Readonly<Record<string, { method: 'elicitation/create'; params: Elicitation }>>

/** What a question is, whether it is read from a log or from a store. */
export interface Asked {
  readonly kind: 'approval' | 'question' | 'tool' | 'auth'
  readonly schema?: unknown
}

/** How the content of a question is put into a form, whose fields are texts, numbers, switches and choices only. */
type Form = 'object' | 'value' | 'json'

const MAX_ARGS = 2_048
const PRIMITIVES = new Set(['string', 'number', 'integer', 'boolean'])
const KEYWORDS = new Set([
  'type',
  'title',
  'description',
  'default',
  'enum',
  'enumNames',
  'oneOf',
  'format',
  'minLength',
  'maxLength',
  'minimum',
  'maximum'
])
const LIST_KEYWORDS = new Set(['type', 'title', 'description', 'default', 'items', 'minItems', 'maxItems'])
const FORMATS: ReadonlySet<unknown> = new Set([undefined, 'email', 'uri', 'date', 'date-time'])

/**
 * The elicitation for what a run waits for; undefined for what no form may ask: the results of client tools, and, without a page,
 * credentials.
 */
export function toElicitation(part: AskingPart, page?: CredentialsPage): Elicitation | undefined {
  if (part.type === 'tool.approval.request') return toApprovalForm(part)
  const { inputId, kind, message = 'Please answer', schema } = part
  if (kind === 'auth' && page !== undefined) return { mode: 'url', message, url: page(inputId) }
  if (kind !== 'question') return undefined
  return { mode: 'form', message, requestedSchema: toRequestedSchema(schema) }
}

/** The elicitations of a result, from the forms by the ids of their inputs. */
export function toInputRequests(forms: Readonly<Record<string, Elicitation>>): InputRequests {
  return Object.fromEntries(
    Object.entries(forms).map(([inputId, params]) => [
      inputId,
      { method: 'elicitation/create' as const, params }
    ])
  )
}

/** The answer that a result of `elicitation/create` gives; undefined if it is none, such as the consent to open a page. */
function toAnswer({ kind, schema }: Asked, result: unknown): ApprovalAnswer | InputAnswer | undefined {
  if (typeof result !== 'object' || result === null) return undefined
  const { action, content } = result as { action?: unknown; content?: unknown }
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel') return undefined
  const fields = (content ?? {}) as Readonly<Record<string, unknown>>
  if (kind === 'approval') return toApproval(action, fields)
  if (kind === 'tool') return undefined
  if (action !== 'accept') return { action }
  if (kind === 'auth') return undefined
  return { action, content: readContent(formOf(schema), fields) }
}

function toApprovalForm({ toolName, args }: { toolName: string; args: unknown }): FormElicitation {
  const json = JSON.stringify(args) ?? ''
  const shown = json.length > MAX_ARGS ? `${json.slice(0, MAX_ARGS)}…` : json
  return {
    mode: 'form',
    message: `Approve the call of the tool "${toolName}" with ${shown}?`,
    requestedSchema: {
      type: 'object',
      properties: {
        approved: { type: 'boolean', title: 'Approve', description: 'Whether the tool may be called' },
        reason: { type: 'string', title: 'Reason', description: 'Why not, for the model' }
      },
      required: ['approved']
    }
  }
}

// A form that is dismissed approves nothing.
function toApproval(action: string, { approved, reason }: Readonly<Record<string, unknown>>): ApprovalAnswer {
  return {
    approved: action === 'accept' && approved === true,
    ...(typeof reason === 'string' && reason !== '' && { reason })
  }
}

function toRequestedSchema(schema: unknown): FormElicitation['requestedSchema'] {
  const form = formOf(schema)
  if (form === 'object') {
    const { properties, required } = schema as FormElicitation['requestedSchema']
    return { type: 'object', properties, ...(required !== undefined && { required }) }
  }
  const answer =
    form === 'value'
      ? (schema as object)
      : {
          type: 'string',
          title: 'Answer',
          ...(schema !== undefined && {
            description: `JSON that fits the schema ${JSON.stringify(schema).slice(0, MAX_ARGS)}`
          })
        }
  return { type: 'object', properties: { answer }, required: ['answer'] }
}

function formOf(schema: unknown): Form {
  if (isField(schema)) return 'value'
  const { type, properties } = (schema ?? {}) as { type?: unknown; properties?: Record<string, unknown> }
  const isFlat = type === 'object' && Object.values(properties ?? {}).every(isField)
  return isFlat && properties !== undefined ? 'object' : 'json'
}

function isField(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  const { type, format } = schema as { type?: unknown; format?: unknown }
  if (type === 'array') return isChoice(schema)
  return (
    PRIMITIVES.has(type as string) &&
    FORMATS.has(format) &&
    Object.keys(schema).every((key) => KEYWORDS.has(key))
  )
}

// Several of a list, with titles or without.
function isChoice(schema: object): boolean {
  const { items } = schema as { items?: { enum?: unknown; anyOf?: unknown } | null }
  const isListed = Array.isArray(items?.enum) || Array.isArray(items?.anyOf)
  return isListed && Object.keys(schema).every((key) => LIST_KEYWORDS.has(key))
}

// A question without a schema takes any text; one with a schema that no form has, JSON.
function readContent(form: Form, fields: Readonly<Record<string, unknown>>): unknown {
  if (form === 'object') return fields
  const { answer } = fields
  if (form === 'value' || typeof answer !== 'string') return answer
  try {
    return JSON.parse(answer)
  } catch {
    return answer
  }
}

/**
 * Answers what a run waits for with the results of its elicitations, by the ids of the inputs. Those that the run does not have, or that
 * were answered before, are passed over. Returns the ids of those that this call answered, or whose page the user opens.
 * @throws RUN_ERR_BAD_INPUT, RUN_ERR_STORE
 */
export async function answerElicitations(
  surface: Surface,
  principal: Principal,
  runId: string,
  results: Readonly<Record<string, unknown>>
): Promise<string[]> {
  const given: GivenAnswer[] = []
  const opened: string[] = []
  for (const [inputId, result] of Object.entries(results)) {
    const found = await surface.runs.findInput(inputId)
    if (found === undefined || found.run.runId !== runId) continue
    const { kind, schema } = found.input
    const answer = toAnswer({ kind, schema }, result)
    if (answer !== undefined) given.push({ inputId, answer })
    else if (kind === 'auth' && isConsent(result)) opened.push(inputId)
  }
  return given.length === 0 ? opened : [...opened, ...(await answerInputs(surface, principal, given))]
}

// Consent to open the page, where the answer is given.
function isConsent(result: unknown): boolean {
  return (result as { action?: unknown } | null)?.action === 'accept'
}

/** What the ids of elicitations begin with, so that their answers differ from those to other requests. */
const PREFIX = 'input:'

/**
 * The request of an elicitation on the stream of a call, for revisions before 2026-07-28. Its id is that of the input, so that whichever
 * node gets the answer knows what it is for.
 */
export function toElicitRequest(inputId: string, elicitation: Elicitation): object {
  const params = elicitation.mode === 'url' ? { ...elicitation, elicitationId: inputId } : elicitation
  return { jsonrpc: '2.0', id: `${PREFIX}${inputId}`, method: 'elicitation/create', params }
}

/** The input that a response answers; undefined if it is none. */
function inputOf({
  id,
  result,
  error
}: Message): { readonly inputId: string; readonly result: unknown } | undefined {
  if (typeof id !== 'string' || !id.startsWith(PREFIX)) return undefined
  // A client that cannot show a form has not answered.
  return { inputId: id.slice(PREFIX.length), result: error === undefined ? result : { action: 'cancel' } }
}

/**
 * Takes the response to an elicitation that went out on the stream of a call, maybe by another node.
 * @throws RUN_ERR_INPUT_NOT_FOUND, MCP_ERR_FORBIDDEN
 */
export async function takeAnswer(
  surface: Surface,
  { caller, log }: { readonly caller: Principal; readonly log: RunLog },
  response: Message
): Promise<void> {
  const answered = inputOf(response)
  if (answered === undefined) return
  const { inputId, result } = answered
  const found = await surface.runs.findInput(inputId)
  if (found === undefined) throw new RUN_ERR_INPUT_NOT_FOUND(inputId)
  const answer = toAnswer({ kind: found.input.kind, schema: found.input.schema }, result)
  if (answer === undefined) return
  try {
    await answerInputs(surface, caller, [{ inputId, answer }])
  } catch (err) {
    // The form is asked for once only: what does not fit counts as dismissed, so that the call does not hang.
    if (codeOf(err) !== 'RUN_ERR_BAD_INPUT') throw err
    log.info({ inputId }, 'the answer of an elicitation does not fit')
    await answerInputs(surface, caller, [{ inputId, answer: { action: 'cancel' } }])
  }
}
