import { setTimeout as pause } from 'node:timers/promises'
import {
  ApprovalAnswerSchema,
  findJsonFault,
  fromApprovalAnswer,
  isTerminalStatus,
  timeOf,
  toLateAnswer,
  toLoggable,
  withoutSecret,
  type ApprovalAnswer,
  type FoundInput,
  type InputAnswer,
  type InputOutcome,
  type InputPage,
  type InputQuery,
  type InputSummary
} from '@svc/contract'
import { RUN_ERR_BAD_INPUT, RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_STORE } from '@svc/contract/errors'
import { runIdOf } from '@svc/contract/stores'
import { openAnswer, sealAnswer } from './answer-seal.ts'
import type { EngineHost } from '../engine-host.ts'
import type { LiveRun } from '../live-run.ts'
import { isReported } from '../../stores/upkeep/store-watch.ts'

// Milliseconds in which the process that has a run is expected to open a sealed answer, and between two polls.
const TAKEN_WITHIN = 15_000
const POLL_INTERVAL = 50

/** Answers the inputs of every run, wherever it is executed; the store accepts only the first answer. */
export class InputAnswers {
  readonly #host: EngineHost
  // Expired inputs that the store could not record.
  readonly #overdue = new Set<string>()

  constructor(host: EngineHost) {
    this.#host = host
  }

  async find(inputId: string): Promise<FoundInput | undefined> {
    return this.#host.stores.runs.findInput(inputId)
  }

  async list(query: InputQuery): Promise<InputPage> {
    return this.#host.stores.runs.listInputs(query)
  }

  /**
   * @throws RUN_ERR_INPUT_NOT_FOUND, RUN_ERR_BAD_INPUT, RUN_ERR_INPUT_ANSWERED, RUN_ERR_INPUT_EXPIRED, RUN_ERR_STORE
   */
  async answer(inputId: string, answer: ApprovalAnswer | InputAnswer): Promise<void> {
    const found = await this.find(inputId)
    if (found === undefined) throw new RUN_ERR_INPUT_NOT_FOUND(inputId)
    const { input } = found
    const outcome = await requireAnswer(input, answer)
    // The timer of a run that is not loaded may be late.
    if (timeOf(this.#host.stores) < input.expiresAt && (await this.#accept(inputId, outcome, input.sealKey)))
      return
    throw toLateAnswer((await this.find(inputId)) ?? found)
  }

  /** Cancels an input whose time is over, unless it was answered in the meantime. */
  async expire(inputId: string): Promise<void> {
    try {
      await this.#expire(inputId)
    } catch (err) {
      if (isReported(err)) this.#overdue.add(inputId)
      else this.#host.log.error({ err: toLoggable(err), inputId }, 'an input could not be expired')
    }
  }

  /** Repeats what the store refused. */
  async catchUp(): Promise<void> {
    for (const inputId of this.#overdue) {
      await this.#expire(inputId)
      this.#overdue.delete(inputId)
    }
  }

  async #expire(inputId: string): Promise<void> {
    const outcome: InputOutcome = { action: 'cancel', expired: true, reason: 'not answered in time' }
    if (await this.#accept(inputId, outcome)) return
    // The process that stored an answer may have died before it delivered it.
    const answer = (await this.find(inputId))?.input.answer
    if (answer) await this.deliver(inputId, answer)
  }

  /** Delivers a stored answer to its run; false if the run is not one of this process. */
  async deliver(inputId: string, answer: InputOutcome): Promise<boolean> {
    const runId = runIdOf(inputId)
    const run = this.#liveRun(runId)
    if (run === undefined) return this.#host.interrupted.wake(runId, inputId)
    const keeper = { seal: this.#host.seal, runs: run.stores.runs }
    const opened = answer.sealed === undefined ? answer : await openAnswer(keeper, inputId, answer)
    if (opened !== null) await run.inputAnswered(inputId, opened)
    if (run.loss && !run.mayResume) throw new RUN_ERR_STORE({ cause: run.loss })
    return true
  }

  async #accept(inputId: string, given: InputOutcome, sealKey?: string): Promise<boolean> {
    const runId = runIdOf(inputId)
    const { lostRuns } = this.#host
    let run = this.#liveRun(runId)
    // A run that is lost and only to be ended: the store must know that first.
    if ((run === undefined || run.loss !== undefined) && lostRuns.isToEnd(runId)) {
      await lostRuns.end(runId)
      run = this.#liveRun(runId)
    }
    const key = run === undefined ? this.#sealKeyFor(given, sealKey) : undefined
    const answer = key === undefined ? given : await sealAnswer(inputId, given, key)
    const { stores } = run ?? this.#host
    const stored = withoutSecret(answer)
    if (!(await stores.runs.answerInput(runId, inputId, stored))) return false
    if (!(await this.deliver(inputId, answer)))
      await stores.control.publish({ type: 'input', runId, inputId, answer: stored })
    if (!this.#mayBeLost(answer) || (await this.#isTaken(inputId))) return true
    return this.#accept(inputId, given, given.secret ? (await this.find(inputId))?.input.sealKey : undefined)
  }

  /**
   * The key for an answer to a run that is not in memory here. Credentials must be encrypted: without other nodes for this process, which
   * loads the run.
   * @throws RUN_ERR_STORE
   */
  #sealKeyFor({ secret }: InputOutcome, sealKey: string | undefined): string | undefined {
    if (!secret) return sealKey
    if (this.#host.stores.lease === undefined) return this.#host.seal.publicKey
    if (sealKey === undefined) throw new RUN_ERR_STORE()
    return sealKey
  }

  // Its node may have died, and another one cannot open the answer but continues the run.
  #mayBeLost({ sealed, secret }: InputOutcome): boolean {
    if (sealed === undefined || this.#host.stores.lease === undefined) return false
    return secret === true || this.#host.resumeWithServerKey
  }

  // False if another process has taken the run over, and cannot open the answer.
  async #isTaken(inputId: string): Promise<boolean> {
    const until = performance.now() + TAKEN_WITHIN
    do {
      const found = await this.find(inputId)
      if (found?.input.answer === null && !isTerminalStatus(found.run.status)) return false
      if (found?.input.answer?.sealed === undefined || isTerminalStatus(found.run.status)) return true
      await pause(POLL_INTERVAL)
    } while (performance.now() < until)
    throw new RUN_ERR_STORE()
  }

  // The run if it is in memory and not about to leave it.
  #liveRun(runId: string): LiveRun | undefined {
    const run = this.#host.live.get(runId)
    return run?.suspended ? undefined : run
  }
}

const MAX_REASON = ApprovalAnswerSchema.properties.reason.maxLength!
const MAX_CONTENT = 1_048_576
/** As for the results of an agent's own tools. */
const MAX_RESULT = 262_144
const MAX_DEPTH = 128

/**
 * Validates the answer to an input, and returns a copy for the store.
 * @throws RUN_ERR_BAD_INPUT
 */
export async function requireAnswer(
  { kind, schema }: Pick<InputSummary, 'kind' | 'schema'>,
  given: object
): Promise<InputOutcome> {
  if (kind === 'approval') return fromApprovalAnswer(requireApprovalAnswer(given))
  if (kind === 'auth') return requireCredentials(given, schema)
  return requireInputAnswer(given, schema, kind === 'tool' ? MAX_RESULT : MAX_CONTENT)
}

// A fault could name a property of what was given, and error texts are logged.
async function requireCredentials(given: object, schema: unknown): Promise<InputOutcome> {
  const answer = await requireInputAnswer(given, undefined, MAX_CONTENT)
  if (answer.action === 'accept' && schema !== undefined)
    await requireFit(schema, answer.content).catch((err: unknown) => {
      if (!(err instanceof RUN_ERR_BAD_INPUT)) throw err
      throw new RUN_ERR_BAD_INPUT('content does not fit the schema of the credentials')
    })
  return answer.content === undefined ? answer : { ...answer, secret: true }
}

/**
 * Validates the answer to an approval, without undefined fields.
 * @throws RUN_ERR_BAD_INPUT if `approved` is not a boolean, `reason` not a text of at most 4,096 characters, or `args` are given
 * and are not a JSON object; null is refused too, since it could be read as "unchanged"
 */
function requireApprovalAnswer(given: Partial<Record<keyof ApprovalAnswer, unknown>>): ApprovalAnswer {
  const { approved, reason, args } = given ?? {}
  // The requester may test for truthiness only, and the string "false" is truthy.
  if (typeof approved !== 'boolean') throw new RUN_ERR_BAD_INPUT('approved must be true or false')
  if (reason !== undefined && (typeof reason !== 'string' || reason.length > MAX_REASON))
    throw new RUN_ERR_BAD_INPUT(`reason must be a text of at most ${MAX_REASON} characters`)
  return {
    approved,
    ...(reason !== undefined && { reason }),
    ...(args !== undefined && { args: objectOf(args) })
  }
}

async function requireInputAnswer(
  given: Partial<Record<keyof InputAnswer, unknown>>,
  schema: unknown,
  maxBytes: number
): Promise<InputOutcome> {
  const { action, content } = given ?? {}
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel')
    throw new RUN_ERR_BAD_INPUT('action must be accept, decline or cancel')
  if (action === 'accept') {
    const copy = content === undefined ? undefined : contentOf(content, maxBytes)
    if (schema !== undefined) await requireFit(schema, copy)
    return copy === undefined ? { action } : { action, content: copy }
  }
  if (content !== undefined) throw new RUN_ERR_BAD_INPUT('content goes with the action accept only')
  return { action }
}

async function requireFit(schema: unknown, content: unknown): Promise<void> {
  if (content === undefined) throw new RUN_ERR_BAD_INPUT('content is missing')
  // Loaded lazily: few services need its pattern engine.
  const { compileForeignSchema } = await import('@svc/contract/schemas')
  const fault = compileForeignSchema(schema, { subject: 'content' }).check(content)
  if (fault !== undefined) throw new RUN_ERR_BAD_INPUT(fault)
}

function contentOf(content: unknown, maxBytes: number): unknown {
  const fault = findJsonFault(content, MAX_DEPTH)
  if (fault !== undefined) throw new RUN_ERR_BAD_INPUT(`content: ${fault}`)
  const json = jsonOf('content', content)
  if (Buffer.byteLength(json) > maxBytes)
    throw new RUN_ERR_BAD_INPUT(`content has more than ${maxBytes} bytes of JSON`)
  return JSON.parse(json)
}

function objectOf(args: unknown): Record<string, unknown> {
  const copy: unknown = JSON.parse(jsonOf('args', args))
  if (typeof copy !== 'object' || copy === null || Array.isArray(copy))
    throw new RUN_ERR_BAD_INPUT('args must be an object')
  return copy as Record<string, unknown>
}

function jsonOf(name: string, value: unknown): string {
  try {
    const json: string | undefined = JSON.stringify(value)
    if (json !== undefined) return json
  } catch {}
  throw new RUN_ERR_BAD_INPUT(`${name} must be JSON`)
}
