import type { InputKind, Principal, RunInput, Runnable, StoredSession } from '@svc/contract'
import {
  answerInputs,
  answerOfText,
  cancelActiveRun,
  partsOf,
  requireExposed,
  type GivenAnswer,
  type WireSurface
} from '@svc/surface'
import type { FastifyRequest } from 'fastify'
import {
  ANTHROPIC_ERR_ANSWERED,
  ANTHROPIC_ERR_ARCHIVED,
  ANTHROPIC_ERR_BAD_REQUEST,
  ANTHROPIC_ERR_NOT_ASKED,
  ANTHROPIC_ERR_UNSUPPORTED
} from '../errors.ts'
import { idOfAnswer, idOfInterrupt, idOfMessage, RunEvents } from '../projection/run-events.ts'
import type { Asked } from '../projection/tool-uses.ts'
import { readSettings } from '../sessions/session-settings.ts'
import { primaryThreadOf } from '../threads/thread-ids.ts'
import type { ResultBlock } from '../wire/blocks.ts'
import type { SentEvent, UserEvent } from '../wire/events.ts'
import type { SendBody } from './event-schemas.ts'
import { readMessage, sendInput } from './send-message.ts'

type Answer = Extract<SentEvent, { type: 'user.tool_confirmation' | 'user.custom_tool_result' }>

/** An event that can be carried out. */
type Step =
  | { readonly type: 'message'; readonly input: RunInput; readonly content: Message['content'] }
  | { readonly type: 'interrupt' }
  | { readonly type: 'answer'; readonly given: GivenAnswer; readonly event: Answer }
type Message = Extract<SentEvent, { type: 'user.message' }>

/**
 * Carries out the events of a request, in order, once all of them are known to be valid and their runs may start: messages wait for their turn, an interrupt ends the
 * run under way before what waits, answers continue the run.
 * @returns them, with the ids that they have in the history
 * @throws ANTHROPIC_ERR_* of requests, and the errors of `RunEngine.start` and `RunEngine.answer`
 */
export async function sendEvents(
  surface: WireSurface,
  session: StoredSession,
  request: FastifyRequest<{ Body: SendBody }>
): Promise<UserEvent[]> {
  const { caller, body } = request
  const settings = readSettings(await surface.runs.sessions.settings(session))
  if (settings.archivedAt !== undefined) throw new ANTHROPIC_ERR_ARCHIVED()
  const steps = await planSteps(surface, session, body.events)
  requireRoom(surface, request, steps)
  const answers = steps.flatMap((step) => (step.type === 'answer' ? step.given : []))
  let areAnswered = false
  const sent: UserEvent[] = []
  for (const [place, step] of steps.entries()) {
    if (step.type === 'interrupt') {
      const run = await cancelActiveRun(surface, session, caller)
      if (run !== undefined)
        sent.push({ id: idOfInterrupt(run.runId), type: 'user.interrupt', processed_at: now() })
    } else if (step.type === 'message') {
      const { input, content } = step
      const { runId } = await sendInput(surface, session, settings, input, request, place)
      sent.push({ id: idOfMessage(runId), type: 'user.message', content, processed_at: null })
    } else {
      if (!areAnswered) await answerAll(surface, caller, answers, steps)
      areAnswered = true
      sent.push({ id: idOfAnswer(step.given.inputId), ...step.event, processed_at: now() })
    }
  }
  return sent
}

// All messages are accepted, or none. Repeated requests may have begun runs that need no room.
function requireRoom(
  { runs }: WireSurface,
  { caller, headers }: Pick<FastifyRequest, 'caller' | 'headers'>,
  steps: readonly Step[]
): void {
  const messages = steps.filter(({ type }) => type === 'message').length
  if (messages < 2 || headers['idempotency-key'] !== undefined) return
  const refusal = runs.refusal(caller.sub, false, messages)
  if (refusal !== undefined) throw refusal.error
}

function now(): string {
  return new Date().toISOString()
}

async function planSteps(
  surface: WireSurface,
  session: StoredSession,
  events: readonly SentEvent[]
): Promise<Step[]> {
  const asked = new AskedEvents(surface, session)
  let runnable: Runnable | undefined
  const steps: Step[] = []
  const answered = new Set<string>()
  for (const event of events)
    switch (event.type) {
      case 'user.message':
        runnable ??= await requireExposed(surface, session.kind, session.name)
        steps.push({ type: 'message', input: readMessage(event, runnable), content: event.content })
        break
      case 'user.interrupt':
        if (event.session_thread_id && event.session_thread_id !== primaryThreadOf(session))
          throw new ANTHROPIC_ERR_UNSUPPORTED('an interrupt of one thread: leave out session_thread_id')
        steps.push({ type: 'interrupt' })
        break
      case 'user.tool_confirmation':
      case 'user.custom_tool_result': {
        const given = await toAnswer(surface, asked, event)
        if (answered.has(given.inputId)) throw new ANTHROPIC_ERR_ANSWERED(idOfAsking(event))
        answered.add(given.inputId)
        steps.push({ type: 'answer', given, event })
        break
      }
      case 'user.tool_result':
        throw new ANTHROPIC_ERR_BAD_REQUEST(
          'user.tool_result: the service executes what agent.tool_use calls'
        )
      default:
        throw new ANTHROPIC_ERR_UNSUPPORTED(`events of the type "${event.type}"`)
    }
  return steps
}

async function answerAll(
  surface: WireSurface,
  caller: Principal,
  answers: readonly GivenAnswer[],
  steps: readonly Step[]
): Promise<void> {
  const answered = new Set(await answerInputs(surface, caller, answers))
  for (const step of steps)
    if (step.type === 'answer' && !answered.has(step.given.inputId))
      throw new ANTHROPIC_ERR_ANSWERED(idOfAsking(step.event))
}

/** @throws ANTHROPIC_ERR_NOT_ASKED, ANTHROPIC_ERR_ANSWERED, ANTHROPIC_ERR_BAD_REQUEST, RUN_ERR_STORE */
async function toAnswer(surface: WireSurface, events: AskedEvents, event: Answer): Promise<GivenAnswer> {
  const { inputId, kind } = await events.require(event)
  const found = await surface.runs.findInput(inputId)
  if (found?.input.answer !== null) throw new ANTHROPIC_ERR_ANSWERED(idOfAsking(event))
  if (event.type === 'user.tool_confirmation') {
    const { result, deny_message: reason } = event
    if (result === 'allow' && reason)
      throw new ANTHROPIC_ERR_BAD_REQUEST('user.tool_confirmation: deny_message is for "deny" only')
    return { inputId, answer: { approved: result === 'allow', ...(reason && { reason }) } }
  }
  const text = textOf(event.content)
  if (event.is_error === true && text === '') return { inputId, answer: { action: 'decline' } }
  if (kind === 'tool')
    return {
      inputId,
      answer: { action: 'accept', content: event.is_error === true ? `Error: ${text}` : text }
    }
  if (event.is_error === true) return { inputId, answer: { action: 'decline' } }
  return { inputId, answer: await answerOfText(surface.runs, inputId, text) }
}

// A result is a text: of what is none, its link or its title.
function textOf(content: readonly ResultBlock[] = []): string {
  return content
    .map((block) => {
      switch (block.type) {
        case 'text':
          return block.text
        case 'search_result':
          return [block.title, block.source, ...block.content.map(({ text }) => text)].join('\n')
        default: {
          const { source } = block
          if (source.type === 'url') return `[${source.url}]`
          if (source.type === 'text') return source.data
          throw new ANTHROPIC_ERR_UNSUPPORTED('files in the result of a tool: send a text or a URL')
        }
      }
    })
    .join('\n')
}

function idOfAsking(event: Answer): string {
  return event.type === 'user.tool_confirmation' ? event.tool_use_id : event.custom_tool_use_id
}

const APPROVALS: readonly InputKind[] = ['approval']
const OTHERS: readonly InputKind[] = ['tool', 'question', 'auth']
const USE = /^sevt_(.+)_\d+_use$/

/** The events of a session that ask for something, each read from the log of its run once. */
class AskedEvents {
  readonly #surface: WireSurface
  readonly #session: StoredSession
  readonly #runs = new Map<string, ReadonlyMap<string, Asked>>()

  constructor(surface: WireSurface, session: StoredSession) {
    this.#surface = surface
    this.#session = session
  }

  /** What the event asks for that an answer names. @throws ANTHROPIC_ERR_NOT_ASKED, RUN_ERR_STORE */
  async require(event: Answer): Promise<Asked> {
    const id = idOfAsking(event)
    const [, runId] = USE.exec(id) ?? []
    const asked = runId === undefined ? undefined : (await this.#askedBy(runId)).get(id)
    const isConfirmation = event.type === 'user.tool_confirmation'
    if (asked === undefined || !(isConfirmation ? APPROVALS : OTHERS).includes(asked.kind))
      throw new ANTHROPIC_ERR_NOT_ASKED(id, isConfirmation ? 'confirmation' : 'result')
    return asked
  }

  async #askedBy(runId: string): Promise<ReadonlyMap<string, Asked>> {
    const known = this.#runs.get(runId)
    if (known !== undefined) return known
    const byEvent = new Map<string, Asked>()
    this.#runs.set(runId, byEvent)
    const ordinal = await this.#surface.runs.sessions.ordinalOf(this.#session, runId)
    if (ordinal === undefined) return byEvent
    const events = new RunEvents()
    for await (const part of partsOf(this.#surface, this.#session, runId)) events.add(part)
    for (const each of events.asked.values()) byEvent.set(each.eventId, each)
    return byEvent
  }
}
