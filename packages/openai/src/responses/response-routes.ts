import { RUN_ERR_FILE_NOT_FOUND } from '@svc/contract/errors'
import { bytesReply, jsonReply, readFileId, requireRun, sendFile, sendJson } from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import type { Surface } from '../surface.ts'
import { createResponse, openResponseStream } from './create-response.ts'
import { cancelResponse, deleteResponse, listInputItems } from './manage-responses.ts'
import { readResponse, requireResponse } from './read-responses.ts'
import {
  ItemsQuerySchema,
  REPLIES,
  ResponseBodySchema,
  ResponseParamsSchema,
  RetrieveQuerySchema,
  type ItemsQuery,
  type ResponseBody,
  type ResponseParams,
  type RetrieveQuery
} from './response-schemas.ts'

const describe = (operationId: string, summary: string) => ({ operationId, tags: ['Responses'], summary })
const params = ResponseParamsSchema
type OfResponse = { Params: ResponseParams }

/** The routes of responses and of their files. */
export function responseRoutes(scope: FastifyInstance, surface: Surface): void {
  const { runs, replies } = surface

  const create = {
    ...describe('createResponse', 'Ask an agent, a team or a workflow'),
    body: ResponseBodySchema,
    response: REPLIES.response
  }
  scope.post<{ Body: ResponseBody }>('/responses', { schema: create }, (request, reply) =>
    createResponse(surface, request, reply)
  )

  const retrieve = {
    ...describe('getResponse', 'A response, or its events from the start'),
    params,
    querystring: RetrieveQuerySchema,
    response: REPLIES.response
  }
  scope.get<OfResponse & { Querystring: RetrieveQuery }>(
    '/responses/:id',
    { schema: retrieve, exposeHeadRoute: false },
    async (request, reply) => {
      const { id } = request.params
      const { stream, starting_after: startingAfter } = request.query
      if (stream !== 'true') return sendJson(replies, reply, await readResponse(surface, id, request, reply))
      const { runId } = await requireResponse(surface, id, request.caller, reply)
      replies.add(reply.raw)
      return openResponseStream(surface, { runId, id, startingAfter }, request, reply)
    }
  )

  const remove = { ...describe('deleteResponse', 'Forget a response'), params, response: REPLIES.deleted }
  scope.delete<OfResponse>('/responses/:id', { schema: remove }, (request, reply) =>
    deleteResponse(surface, request, reply)
  )

  const cancel = { ...describe('cancelResponse', 'Cancel a response'), params, response: REPLIES.canceled }
  scope.post<OfResponse>('/responses/:id/cancel', { schema: cancel }, (request, reply) =>
    cancelResponse(surface, request, reply)
  )

  const items = {
    ...describe('listInputItems', 'What a response was asked'),
    params,
    querystring: ItemsQuerySchema,
    response: REPLIES.items
  }
  scope.get<OfResponse & { Querystring: ItemsQuery }>(
    '/responses/:id/input_items',
    { schema: items, exposeHeadRoute: false },
    (request, reply) => listInputItems(surface, request, reply)
  )

  const file = {
    ...describe('getFileContent', 'The content of a file that a run made'),
    params,
    response: {
      200: bytesReply('The file'),
      '4xx': jsonReply('Refused', REPLIES.items['4xx'].content['application/json'].schema)
    }
  }
  scope.get<OfResponse>('/files/:id/content', { schema: file }, async (request, reply) => {
    const { id } = request.params
    const found = readFileId(id)
    if (found === undefined) throw new RUN_ERR_FILE_NOT_FOUND(id)
    await requireRun(surface, found.runId, request.caller)
    replies.add(reply.raw)
    return sendFile({ files: runs.stores.files, log: request.log }, found.runId, found.fileId, request, reply)
  })
}
