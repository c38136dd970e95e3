import { Type, type TSchema } from '@sinclair/typebox'
import { IdSchema, MAX_NAME_LENGTH, RunBodySchema, RUNNABLE_KINDS, type RunnableKind } from '@svc/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fileUrlsAt, type FileUrl } from '../files/file-urls.ts'
import { sendFile } from '../files/send-file.ts'
import type { WireSurface } from '../open-surface.ts'
import { bytesReply, type jsonReply } from '../openapi/describe-routes.ts'
import { baseUrlOf, type AddressedRequest } from '../requests/base-url.ts'
import { cancelActiveRun, requireRunOf } from './conversations.ts'
import type { SessionReference } from './require-owned.ts'

/** How a wire serves conversations, each of which is a session of a runnable. */
export interface ConversationWire {
  /** The path of the wire; the kind and the name of a runnable follow it. */
  readonly path: string
  /** The names of the path between a runnable and the id of a conversation. */
  readonly below: readonly string[]
  /** The parameter of that id. */
  readonly id: string
  /** The last name of the path of the run under way. */
  readonly running: string
  /** What files are of, in descriptions. */
  readonly owner: string
  /** Ends the ids of operations. */
  readonly title: string
  readonly tag: string
  /** The replies of refusals. */
  readonly failures: Readonly<Record<string, ReturnType<typeof jsonReply>>>
}

/** A request for a conversation. */
export interface ConversationRequest {
  Params: { name: string } & Record<string, string>
  Querystring: { userId?: string | undefined }
}

/** The place of the conversations of one kind of runnable. */
export interface ConversationPlace {
  readonly kind: RunnableKind
  /** Ends with the parameter of the runnable's name. */
  readonly path: string
  /** Ends with the parameter of the conversation's id. */
  readonly session: string
  /** The parameters of that path. */
  readonly params: TSchema
  /** Describes a route, whose operation is this verb. */
  describe(verb: string, summary: string, description?: string): object
  /** The conversation of a request. */
  read(request: FastifyRequest<ConversationRequest>): SessionReference
}

/** The parameters of the path of a runnable. */
export const NameParamsSchema = Type.Object({
  name: Type.String({ minLength: 1, maxLength: MAX_NAME_LENGTH })
})
/** The query that names the user of a caller without credentials. */
export const UserQuerySchema = Type.Pick(RunBodySchema, ['userId'], { additionalProperties: false })

/**
 * Adds the routes of conversations for each kind of runnable, and for agents without their kind: those that `add` adds, and after them
 * those that cancel the run under way and serve files.
 */
export function conversationRoutes(
  scope: FastifyInstance,
  surface: WireSurface,
  wire: ConversationWire,
  add: (place: ConversationPlace) => void
): void {
  for (const kind of [...RUNNABLE_KINDS, undefined]) {
    const place = placeOf(wire, kind)
    add(place)
    addCommon(scope, surface, wire, place)
  }
}

function placeOf(
  { path: of, below, id, title, tag }: ConversationWire,
  kind?: RunnableKind
): ConversationPlace {
  const named = kind === undefined ? '' : kind[0]!.toUpperCase() + kind.slice(1)
  const path = [of, ...(kind === undefined ? [] : [kind]), ':name'].join('/')
  return {
    kind: kind ?? 'agent',
    path,
    session: [path, ...below, `:${id}`].join('/'),
    params: sessionParams(id),
    describe: (verb, summary, description) => ({
      operationId: verb + named + title,
      tags: [tag],
      summary,
      ...(description !== undefined && { description })
    }),
    read: ({ params, query }) => ({
      kind: kind ?? 'agent',
      name: params.name,
      sessionId: params[id]!,
      userId: query.userId
    })
  }
}

function addCommon(
  scope: FastifyInstance,
  surface: WireSurface,
  { id, running, owner, failures }: ConversationWire,
  { session, params, describe, read }: ConversationPlace
): void {
  const cancel = {
    ...describe('cancel', 'Cancel the run under way'),
    params,
    querystring: UserQuerySchema,
    response: { 204: Type.Null({ description: 'Nothing runs any more' }), ...failures }
  }
  scope.delete<ConversationRequest>(`${session}/${running}`, { schema: cancel }, async (request, reply) => {
    await cancelActiveRun(surface, read(request), request.caller)
    return reply.code(204).send()
  })

  const file = {
    ...describe('getFileOf', `A file of a ${owner}`),
    params: sessionParams(id, { runId: IdSchema, fileId: IdSchema }),
    querystring: UserQuerySchema,
    response: {
      200: bytesReply('The file, or the range that was asked for'),
      ...failures
    }
  }
  scope.get<ConversationRequest>(
    `${session}/files/:runId/:fileId`,
    { schema: file },
    async (request, reply) => {
      const { runId, fileId } = request.params
      await requireRunOf(surface, read(request), runId!, request.caller)
      surface.replies.add(reply.raw)
      const { files } = surface.runs.stores
      return sendFile({ files, log: request.log }, runId!, fileId!, request, reply)
    }
  )
}

function sessionParams(id: string, more: Record<string, typeof IdSchema> = {}) {
  return Type.Object({ ...NameParamsSchema.properties, [id]: IdSchema, ...more })
}

/** Makes the URLs of files of a conversation, at this service as the client reaches it, or elsewhere. */
export function conversationFiles(
  { path, below }: Pick<ConversationWire, 'path' | 'below'>,
  surface: WireSurface,
  { kind, name, sessionId, userId }: SessionReference,
  request: AddressedRequest
): FileUrl {
  return fileUrlsAt({
    base: baseUrlOf(surface, request),
    path: [path.slice(1), kind, name, ...below, sessionId, 'files'],
    userId
  })
}
