import type { RunnableKind } from '@svc/contract'
import { cancelActiveRun, requireRunOf, sendFile, type WireSurface } from '@svc/surface'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AGUI_ERR_BAD_MESSAGE } from '../errors.ts'
import { answersOf } from '../messages/read-answers.ts'
import { readForwarded, RunAgentInputSchema, type RunAgentInput } from '../wire/input.ts'
import { connect } from './connect.ts'
import { continueRun } from './continue-run.ts'
import { sendEmptyRun, startRun } from './start-run.ts'
import type { Thread } from './thread.ts'
import {
  ConnectQuerySchema,
  FileParamsSchema,
  NameParamsSchema,
  REPLIES,
  ThreadParamsSchema,
  UserQuerySchema,
  type ConnectQuery,
  type ThreadParams
} from './thread-schemas.ts'

interface ThreadRequest {
  Params: ThreadParams
  Querystring: { userId?: string }
}

/** The routes of one kind of runnable below `path`, which ends with its name. @param title distinguishes their operations */
export function threadRoutes(
  scope: FastifyInstance,
  surface: WireSurface,
  kind: RunnableKind,
  path: string,
  title: string
): void {
  const describe = (verb: string, summary: string, description?: string) => ({
    operationId: verb + title,
    tags: ['Runs'],
    summary,
    ...(description !== undefined && { description })
  })
  const threadOf = ({ params, query }: FastifyRequest<ThreadRequest>): Thread => ({
    kind,
    name: params.name,
    sessionId: params.threadId,
    userId: query.userId
  })

  const run = {
    ...describe(
      'run',
      'Send a message to a thread, or answer what its last run asks',
      'A last message of the user starts a run; `resume`, or last messages with the results of tool calls, continue the run that waits for them. Without messages the stream ends at once.'
    ),
    params: NameParamsSchema,
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
    params: ThreadParamsSchema,
    querystring: ConnectQuerySchema,
    response: REPLIES.connected
  }
  scope.get<ThreadRequest & { Querystring: ConnectQuery }>(
    `${path}/threads/:threadId/connect`,
    { schema: follow, exposeHeadRoute: false },
    async (request, reply) => connect(surface, threadOf(request), request.query, request, reply)
  )

  const cancel = {
    ...describe('cancel', 'Cancel the run under way'),
    params: ThreadParamsSchema,
    querystring: UserQuerySchema,
    response: REPLIES.canceled
  }
  scope.delete<ThreadRequest>(`${path}/threads/:threadId/run`, { schema: cancel }, async (request, reply) => {
    await cancelActiveRun(surface, threadOf(request), request.caller)
    return reply.code(204).send()
  })

  const file = {
    ...describe('getFileOf', 'A file of a thread'),
    params: FileParamsSchema,
    querystring: UserQuerySchema,
    response: REPLIES.file
  }
  scope.get<ThreadRequest & { Params: { runId: string; fileId: string } }>(
    `${path}/threads/:threadId/files/:runId/:fileId`,
    { schema: file },
    async (request, reply) => {
      const { runId, fileId } = request.params
      await requireRunOf(surface, threadOf(request), runId, request.caller)
      surface.replies.add(reply.raw)
      const { files } = surface.runs.stores
      return sendFile({ files, log: request.log }, runId, fileId, request, reply)
    }
  )
}
