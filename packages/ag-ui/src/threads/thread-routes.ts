import {
  conversationRoutes,
  NameParamsSchema,
  type ConversationPlace,
  type ConversationRequest,
  type WireSurface
} from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { AGUI_ERR_BAD_MESSAGE } from '../errors.ts'
import { answersOf } from '../messages/read-answers.ts'
import { readForwarded, RunAgentInputSchema, type RunAgentInput } from '../wire/input.ts'
import { connect } from './connect.ts'
import { continueRun } from './continue-run.ts'
import { sendEmptyRun, startRun } from './start-run.ts'
import { ConnectQuerySchema, REPLIES, RunQuerySchema, THREADS, type ConnectQuery } from './thread-schemas.ts'

/** The routes of threads. */
export function threadRoutes(scope: FastifyInstance, surface: WireSurface): void {
  conversationRoutes(scope, surface, THREADS, (place) => addRoutes(scope, surface, place))
}

function addRoutes(
  scope: FastifyInstance,
  surface: WireSurface,
  { kind, path, session, params, describe, read }: ConversationPlace
): void {
  const run = {
    ...describe(
      'run',
      'Send a message to a thread, or answer what its last run asks',
      'A last message of the user starts a run; `resume`, or last messages with the results of tool calls, continue the run that waits for them. Without messages the stream ends at once.'
    ),
    params: NameParamsSchema,
    querystring: RunQuerySchema,
    body: RunAgentInputSchema,
    response: REPLIES.run
  }
  scope.post<{ Params: { name: string }; Body: RunAgentInput }>(
    path,
    { schema: run },
    async (request, reply) => {
      const { threadId: sessionId, messages, resume } = request.body
      const { svc } = readForwarded(request.body)
      const thread = { kind, name: request.params.name, sessionId, userId: svc.userId }
      const answers = answersOf(messages, resume)
      if (answers.resume.length > 0 || answers.results.length > 0)
        return continueRun(surface, thread, answers, request, reply)
      const last = messages.findLast(({ role }) => role === 'user' || role === 'assistant')
      if (last === undefined && svc.input === undefined) return sendEmptyRun(surface, thread, request, reply)
      if (last?.role === 'assistant' && svc.input === undefined)
        throw new AGUI_ERR_BAD_MESSAGE('it is of the assistant: send the results of its tool calls')
      return startRun(surface, thread, last, request, reply)
    }
  )

  const follow = {
    ...describe('connect', 'Follow a thread from its start'),
    params,
    querystring: ConnectQuerySchema,
    response: REPLIES.connected
  }
  scope.get<ConversationRequest & { Querystring: ConnectQuery }>(
    `${session}/connect`,
    { schema: follow, exposeHeadRoute: false },
    async (request, reply) => connect(surface, read(request), request.query, request, reply)
  )
}
