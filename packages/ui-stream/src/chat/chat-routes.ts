import {
  conversationRoutes,
  findActiveRun,
  NameParamsSchema,
  reserveMemory,
  sendJson,
  tieToClient,
  type ConversationPlace,
  type ConversationRequest
} from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { MessageChunks } from '../projection/message-chunks.ts'
import { continueRun, viewIn, openStream } from './continue-run.ts'
import {
  CHATS,
  ChatBodySchema,
  HistoryQuerySchema,
  REPLIES,
  ResumeQuerySchema,
  SendQuerySchema,
  type ChatBody,
  type HistoryQuery
} from './chat-schemas.ts'
import { planHistory, readHistory } from './read-history.ts'
import { startTurn } from './start-turn.ts'
import type { Surface } from '../surface.ts'

/** The routes of chats. */
export function chatRoutes(scope: FastifyInstance, surface: Surface): void {
  conversationRoutes(scope, surface, CHATS, (place) => addRoutes(scope, surface, place))
}

function addRoutes(
  scope: FastifyInstance,
  surface: Surface,
  { kind, path, session, params, describe, read }: ConversationPlace
): void {
  const { replies } = surface
  const send = {
    ...describe(
      'send',
      'Send a message of a chat, or answer what its last answer asks',
      'A last message of the user starts a run; one of the assistant continues its run, with the responses to approvals and the outputs of tools among its parts.'
    ),
    params: NameParamsSchema,
    querystring: SendQuerySchema,
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
    params,
    querystring: HistoryQuerySchema,
    response: REPLIES.history
  }
  scope.get<ConversationRequest & { Querystring: HistoryQuery }>(
    session,
    { schema: history, exposeHeadRoute: false },
    async (request, reply) => {
      const { query, caller } = request
      const chat = read(request)
      const plan = await planHistory(surface, chat, query, caller)
      await reserveMemory(reply.raw, caller.sub, plan.bytes)
      return sendJson(replies, reply, await readHistory(surface, plan, viewIn(surface, chat, request)))
    }
  )

  const resume = {
    ...describe('resume', 'Follow the run under way from its start'),
    params,
    querystring: ResumeQuerySchema,
    response: REPLIES.resumed
  }
  scope.get<ConversationRequest>(
    `${session}/stream`,
    { schema: resume, exposeHeadRoute: false },
    async (request, reply) => {
      const chat = read(request)
      const run = await findActiveRun(surface, chat, request.caller)
      if (run === undefined) return reply.code(204).send()
      tieToClient(replies, reply)
      return openStream(surface, reply, run.runId, new MessageChunks(viewIn(surface, chat, request)))
    }
  )
}
