import { hash, randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import {
  codeOf,
  defined,
  isTerminalStatus,
  type OnDisconnect,
  type Principal,
  type RunBody,
  type RunLog,
  type Runnable,
  type RunSummary,
  type StartKey
} from '@svc/contract'
import { toStartOptions, type Run } from '@svc/surface'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_NOT_CONTINUABLE } from '../errors.ts'
import type { Surface } from '../surface.ts'
import { toToolUse } from '../wire/client-tools.ts'
import { toRunInput, type Conversation } from '../wire/conversation.ts'
import { toFormatInstructions, toStopTexts } from '../wire/response-format.ts'
import { functionsOf, type InputItem, type ResponseBody } from './response-schemas.ts'

/** Begins the hash of a request with `store: false`: the record of a run says so nowhere else. */
const UNSTORED = 'unstored:'

/** A response that a connection keeps for the requests that follow on it. */
export interface KeptResponse {
  /** The response before those that follow, whose run has been started; undefined if there is none. */
  readonly responseId?: string | undefined
  /** What was said up to then, as far as no session has it. */
  readonly items: readonly InputItem[]
  /** True if these are all that was said: there is no session. */
  readonly isWhole: boolean
}

/** A request for a response, over HTTP or a WebSocket. */
export interface Asking {
  readonly body: ResponseBody
  readonly caller: Principal
  readonly headers: IncomingHttpHeaders
  readonly log: RunLog
  /** What the connection keeps. */
  readonly kept?: { has(id: string): boolean; find(id: string): KeptResponse | undefined }
  /** Watches the client, and cancels the run that it has started when it leaves, unless the run is to continue. */
  follow(run?: Run, onDisconnect?: OnDisconnect): void
}

/**
 * The start key of a request that has an `Idempotency-Key`, or whose response is not to be found later; else undefined.
 * @throws OPENAI_ERR_BAD_REQUEST
 */
function toStartKey({ headers, body }: Asking): StartKey | undefined {
  const { 'idempotency-key': key } = headers
  const isUnstored = body.store === false
  if (key === undefined && !isUnstored) return undefined
  if (key !== undefined && !/^[!-~]{1,255}$/.test(String(key)))
    throw new OPENAI_ERR_BAD_REQUEST('Idempotency-Key must have 1–255 visible ASCII characters')
  return {
    key: `openai:${key === undefined ? randomUUID() : String(key)}`,
    hash: (isUnstored ? UNSTORED : '') + hash('sha256', JSON.stringify(body))
  }
}

/** False if the request that started the run had `store: false`. */
export function isStored({ startKey }: Pick<RunSummary, 'startKey'>): boolean {
  return startKey?.hash.startsWith(UNSTORED) !== true
}

/** What comes before a new run: an earlier one, or a session, or nothing. */
export interface Continued {
  readonly previous?: RunSummary | undefined
  readonly sessionId?: string
}

/**
 * Starts a run with the last message of the input.
 * @throws OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_UNSUPPORTED, OPENAI_ERR_NOT_CONTINUABLE, and the errors of `RunEngine.start`
 */
export async function startRun(
  surface: Surface,
  runnable: Runnable,
  given: Conversation,
  { previous, sessionId = previous?.sessionId }: Continued,
  asking: Asking
): Promise<FoundPlace> {
  const { body, caller: principal, headers, log } = asking
  if (given.approvals.length > 0) throw new OPENAI_ERR_BAD_REQUEST('input: no run waits for this approval')
  const content = sessionId === undefined ? given.input : given.joinedInput()
  const input = content === undefined ? undefined : toRunInput(content, runnable)
  const isWhole = sessionId === undefined && (given.messages.length > 0 || body.store === false)
  const instructions = joinTexts(
    given.instructions,
    toFormatInstructions(body.text?.format, runnable, surface)
  )
  const asked = defined({
    input,
    // A session of its own would keep what is not to be stored.
    messages: isWhole && runnable.kind !== 'workflow' ? [...given.messages] : undefined,
    sessionId,
    userId: previous?.userId,
    metadata: body.metadata ?? undefined,
    instructions,
    stop: toStopTexts(body.stop),
    ...toToolUse(functionsOf(body), body.tool_choice)
  }) as RunBody
  const onDisconnect = body.background ? 'continue' : surface.onDisconnect
  const options = toStartOptions(surface, runnable, { body: asked, principal, onDisconnect, headers, log })
  // A run under way has left no turn yet: the new one waits for it.
  const afterTurn =
    previous !== undefined && runnable.takesTurns === true && isTerminalStatus(previous.status)
      ? previous.runId
      : undefined
  const run = await surface.runs
    .start(runnable, input, { ...options, ...defined({ afterTurn, startKey: toStartKey(asking) }) })
    .catch((err: unknown) => {
      const isNoTurn = previous !== undefined && codeOf(err) === 'RUN_ERR_NO_TURN'
      throw isNoTurn ? new OPENAI_ERR_NOT_CONTINUABLE(body.previous_response_id!) : err
    })
  asking.follow(run, onDisconnect)
  return { runId: run.runId, after: 0, isWhole }
}

function joinTexts(...texts: readonly (string | undefined)[]): string | undefined {
  const given = texts.filter((text) => text !== undefined)
  return given.length === 0 ? undefined : given.join('\n\n')
}

const PREFIX = 'resp_'
const FORM = /^resp_(.+?)(?:_(\d{1,10}))?$/

/** A place in the log of a run where a response begins. */
export interface ResponsePlace {
  readonly runId: string
  /** The part before it; 0 for the first response of the run. */
  readonly after: number
}

/** Where the response to a request begins. */
export interface FoundPlace extends ResponsePlace {
  /** True if the client, or its connection, keeps all that was said. */
  readonly isWhole: boolean
}

/** The id of the response that begins after a part of a run. */
export function toResponseId({ runId, after }: ResponsePlace): string {
  return after === 0 ? PREFIX + runId : `${PREFIX}${runId}_${after}`
}

/** Reads the id of a response; undefined if it is none. */
export function readResponseId(id: string): ResponsePlace | undefined {
  const [, runId, after = '0'] = FORM.exec(id) ?? []
  if (runId === undefined) return undefined
  const place = { runId, after: Number(after) }
  return toResponseId(place) === id ? place : undefined
}
