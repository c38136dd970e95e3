import {
  codeOf,
  defined,
  isTerminalStatus,
  type RunBody,
  type Runnable,
  type RunSummary
} from '@svc/contract'
import { tieToClient, toStartOptions } from '@svc/surface'
import type { FastifyReply } from 'fastify'
import { OPENAI_ERR_BAD_REQUEST, OPENAI_ERR_NOT_CONTINUABLE } from '../errors.ts'
import type { Surface } from '../surface.ts'
import { toToolUse } from '../wire/client-tools.ts'
import { toRunInput, type Conversation } from '../wire/conversation.ts'
import { toFormatInstructions, toStopTexts } from '../wire/response-format.ts'
import type { ResponsePlace } from './response-id.ts'
import { functionsOf, type CreateRequest } from './response-schemas.ts'
import { toStartKey } from './start-key.ts'

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
