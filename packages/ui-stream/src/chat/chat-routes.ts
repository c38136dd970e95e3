import type { RunnableKind } from '@svc/contract'
import {
  cancelActiveRun,
  findActiveRun,
  requireRunOf,
  reserveMemory,
  sendFile,
  sendJson,
  tieToClient,
  type WireSurface
} from '@svc/surface'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { MessageChunks } from '../projection/message-chunks.ts'
import { fileUrlIn, sendStream, type Chat } from './chat.ts'
import {
  ChatBodySchema,
  ChatParamsSchema,
  FileParamsSchema,
  HistoryQuerySchema,
  NameParamsSchema,
  REPLIES,
  UserQuerySchema,
  type ChatBody,
  type ChatParams,
  type HistoryQuery
} from './chat-schemas.ts'
import { planHistory, readHistory } from './read-history.ts'
import { continueRun } from './continue-run.ts'
import { startTurn } from './start-turn.ts'

interface ChatRequest {
  Params: ChatParams
  Querystring: { userId?: string }
}

/** The routes of one kind of runnable below `path`, which ends with its name. @param title distinguishes their operations */
export function chatRoutes(
  scope: FastifyInstance,
  surface: WireSurface,
  kind: RunnableKind,
  path: string,
  title: string
): void {
  const { runs, replies } = surface
  const describe = (verb: string, summary: string, description?: string) => ({
    operationId: verb + title,
    tags: ['Chats'],
    summary,
    ...(description !== undefined && { description })
  })
  const chatOf = ({ params, query }: FastifyRequest<ChatRequest>): Chat => ({
    kind,
    name: params.name,
    sessionId: params.id,
    userId: query.userId
  })

  const send = {
    ...describe(
      'send',
      'Send a message of a chat, or answer what its last answer asks',
      'A last message of the user starts a run; one of the assistant continues its run, with the responses to approvals and the outputs of tools among its parts.'
    ),
    params: NameParamsSchema,
    body: ChatBodySchema,
    response: REPLIES.stream
  }
  scope.post<{ Params: { name: string }; Body: ChatBody }>(path, { schema: send }, async (request, reply) => {
    const { id: sessionId, messages, userId } = request.body
    const chat = { kind, name: request.params.name, sessionId, userId }
    const last = messages.at(-1)!
    const isAnswer = last.role === 'assistant' && request.body.trigger !== 'regenerate-message'
    return isAnswer
      ? continueRun(surface, chat, last, request, reply)
      : startTurn(surface, chat, request, reply)
  })

  const history = {
    ...describe('get', 'The messages of a chat, newest page first'),
    params: ChatParamsSchema,
    querystring: HistoryQuerySchema,
    response: REPLIES.history
  }
  scope.get<ChatRequest & { Querystring: HistoryQuery }>(
    `${path}/:id`,
    { schema: history, exposeHeadRoute: false },
    async (request, reply) => {
      const { query, caller } = request
      const chat = chatOf(request)
      const plan = await planHistory(surface, chat, query, caller)
      await reserveMemory(reply.raw, caller.sub, plan.bytes)
      return sendJson(replies, reply, await readHistory(surface, plan, fileUrlIn(surface, chat, request)))
    }
  )

  const resume = {
    ...describe('resume', 'Follow the run under way from its start'),
    params: ChatParamsSchema,
    querystring: UserQuerySchema,
    response: REPLIES.resumed
  }
  scope.get<ChatRequest>(
    `${path}/:id/stream`,
    { schema: resume, exposeHeadRoute: false },
    async (request, reply) => {
      const chat = chatOf(request)
      const run = await findActiveRun(surface, chat, request.caller)
      if (run === undefined) return reply.code(204).send()
      tieToClient(replies, reply)
      return sendStream(surface, reply, run.runId, new MessageChunks(fileUrlIn(surface, chat, request)))
    }
  )

  const cancel = {
    ...describe('cancel', 'Cancel the run under way'),
    params: ChatParamsSchema,
    querystring: UserQuerySchema,
    response: REPLIES.canceled
  }
  scope.delete<ChatRequest>(`${path}/:id/stream`, { schema: cancel }, async (request, reply) => {
    await cancelActiveRun(surface, chatOf(request), request.caller)
    return reply.code(204).send()
  })

  const file = {
    ...describe('getFileOf', 'A file of a message'),
    params: FileParamsSchema,
    querystring: UserQuerySchema,
    response: REPLIES.file
  }
  scope.get<ChatRequest & { Params: { runId: string; fileId: string } }>(
    `${path}/:id/files/:runId/:fileId`,
    { schema: file },
    async (request, reply) => {
      const { runId, fileId } = request.params
      await requireRunOf(surface, chatOf(request), runId, request.caller)
      replies.add(reply.raw)
      return sendFile({ files: runs.stores.files, log: request.log }, runId, fileId, request, reply)
    }
  )
}
