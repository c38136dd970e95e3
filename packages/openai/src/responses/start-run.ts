import { hash, randomUUID } from 'node:crypto'
import {
  codeOf,
  defined,
  isTerminalStatus,
  type RunBody,
  type Runnable,
  type RunSummary,
  type StartKey
} from '@svc/contract'
import { tieToClient, toStartOptions } from '@svc/surface'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_NOT_CONTINUABLE } from '../errors.ts'
import type { Surface } from '../surface.ts'
import { toToolUse } from '../wire/client-tools.ts'
import { toRunInput, type Conversation } from '../wire/conversation.ts'
import { toFormatInstructions, toStopTexts } from '../wire/response-format.ts'
import { functionsOf, type CreateRequest, type ResponseBody } from './response-schemas.ts'

/** Begins the hash of a request with `store: false`: the record of a run says so nowhere else. */
const UNSTORED = 'unstored:'

/**
 * The start key of a request that has an `Idempotency-Key`, or whose response is not to be found later; else undefined.
 * @throws OPENAI_ERR_BAD_REQUEST
 */
function toStartKey({ headers, body }: FastifyRequest & { body: ResponseBody }): StartKey | undefined {
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
  readonly previous?: RunSummary
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
  request: CreateRequest,
  reply: FastifyReply
): Promise<ResponsePlace> {
  const { body, caller: principal, headers, log } = request
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
    .start(runnable, input, { ...options, ...defined({ afterTurn, startKey: toStartKey(request) }) })
    .catch((err: unknown) => {
      const isNoTurn = previous !== undefined && codeOf(err) === 'RUN_ERR_NO_TURN'
      throw isNoTurn ? new OPENAI_ERR_NOT_CONTINUABLE(body.previous_response_id!) : err
    })
  tieToClient(surface.replies, reply, run, onDisconnect)
  return { runId: run.runId, after: 0 }
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
