import { Type, type Static } from '@sinclair/typebox'
import { codeOf, IdSchema, type Principal } from '@svc/contract'
import { RUN_ERR_FILE_NOT_FOUND } from '@svc/contract/errors'
import {
  bytesReply,
  filesOfTurn,
  findSession,
  jsonReply,
  readFileId,
  requireRun,
  requireSession,
  reserveLargest,
  sendFile,
  sendJson,
  toFileId,
  type Admit,
  type SessionFile,
  type WireSurface
} from '@svc/surface'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { ANTHROPIC_ERR_BAD_REQUEST, ANTHROPIC_ERR_UNSUPPORTED } from '../errors.ts'
import { listOfTurns } from '../events/list-events.ts'
import { FAILURES } from '../wire/error-body.ts'
import { DEFAULT_LIMIT, listQueryOf, pageOf, queryOf, repeated, valuesOf, type Page } from '../wire/lists.ts'

const FileSchema = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal('file'),
    filename: Type.String({ description: 'Its id where it has no name' }),
    mime_type: Type.String(),
    size_bytes: Type.Integer(),
    created_at: Type.String({ format: 'date-time' }),
    downloadable: Type.Literal(true),
    scope: Type.Object({ type: Type.Literal('session'), id: Type.String() })
  },
  { title: 'File' }
)
type FileObject = Static<typeof FileSchema>

const ParamsSchema = Type.Object({ file_id: IdSchema })
const id = Type.String({ maxLength: 512 })
const QuerySchema = listQueryOf({
  scope_id: Type.Optional(
    Type.String({ maxLength: 512, description: 'The session: required without `ids`' })
  ),
  ids: repeated(id, 100),
  'ids[]': repeated(id, 100)
})
type Query = Static<typeof QuerySchema>
type OfFile = { Params: { file_id: string } }
const describe = (operationId: string, summary: string) => ({ operationId, tags: ['Files'], summary })
// Clients may leave out the revision here.
const config = { isOfFiles: true }

/** `/v1/files`: what the finished turns of sessions have made. */
export function fileRoutes(scope: FastifyInstance, surface: WireSurface): void {
  const { replies, runs } = surface
  const list = {
    ...describe('listFiles', 'The files that the finished turns of a session have made, newest first'),
    querystring: QuerySchema,
    response: { 200: jsonReply('One page of files', pageOf(FileSchema, 'Files')), ...FAILURES }
  }
  scope.get<{ Querystring: Query }>(
    '/v1/files',
    { schema: list, config, exposeHeadRoute: false },
    async ({ query, caller }, reply) => {
      const admit = reserveLargest(reply.raw, caller.sub)
      return sendJson(replies, reply, await listFiles(surface, query, caller, admit))
    }
  )

  const get = {
    ...describe('getFile', 'A file that a turn has made'),
    params: ParamsSchema,
    querystring: queryOf({}),
    response: { 200: jsonReply('The file', FileSchema), ...FAILURES }
  }
  scope.get<OfFile>(
    '/v1/files/:file_id',
    { schema: get, config, exposeHeadRoute: false },
    async ({ params, caller }, reply) => {
      const admit = reserveLargest(reply.raw, caller.sub)
      return sendJson(replies, reply, await requireSessionFile(surface, params.file_id, caller, admit))
    }
  )

  const download = {
    ...describe('downloadFile', 'The content of a file that a turn has made'),
    params: ParamsSchema,
    querystring: queryOf({}),
    response: { 200: bytesReply('The file'), ...FAILURES }
  }
  scope.get<OfFile>('/v1/files/:file_id/content', { schema: download, config }, async (request, reply) => {
    const { params, caller, log } = request
    await requireSessionFile(surface, params.file_id, caller, reserveLargest(reply.raw, caller.sub))
    const { runId, fileId } = readFileId(params.file_id)!
    replies.add(reply.raw)
    return sendFile({ files: runs.stores.files, log }, runId, fileId, request, reply)
  })

  refuse('POST', '/v1/files', 'uploading files: send them in messages')
  refuse('DELETE', '/v1/files/:file_id', 'deleting one file: delete its session')

  // Before the body, whatever its type.
  function refuse(method: 'POST' | 'DELETE', url: string, what: string): void {
    const onRequest = async () => {
      throw new ANTHROPIC_ERR_UNSUPPORTED(what)
    }
    // The field is of @fastify/swagger, which only some of the packages have.
    const schema: FastifySchema & { hide: boolean } = { hide: true }
    scope.route({ method, url, schema, config, onRequest, handler: onRequest })
  }
}

/** @throws ANTHROPIC_ERR_BAD_REQUEST, ANTHROPIC_ERR_BAD_PAGE, RUN_ERR_SESSION_NOT_FOUND, RUN_ERR_STORE, and the errors of `admit` */
async function listFiles(
  surface: WireSurface,
  { scope_id: sessionId, limit, page, ids: plain, 'ids[]': bracketed }: Query,
  caller: Principal,
  admit: Admit
): Promise<Page<FileObject>> {
  const ids = valuesOf(plain, bracketed)
  if (ids !== undefined) {
    if (limit !== undefined || page !== undefined)
      throw new ANTHROPIC_ERR_BAD_REQUEST('ids: leave out `limit` and `page`')
    const data: FileObject[] = []
    for (const each of new Set(ids)) {
      const file = await findSessionFile(surface, each, caller, admit)
      if (file !== undefined && (sessionId ?? file.scope.id) === file.scope.id) data.push(file)
    }
    return { data, next_page: null }
  }
  if (sessionId === undefined)
    throw new ANTHROPIC_ERR_BAD_REQUEST('scope_id is required: files are those of a session')
  const session = await findSession(surface, sessionId, caller)
  return listOfTurns(surface, session, caller, {
    list: ['files', sessionId],
    order: 'desc',
    limit: limit ?? DEFAULT_LIMIT,
    page,
    admit,
    read: async (turn) => (await filesOfTurn(surface, session, turn)).map((file) => toFile(file, sessionId))
  })
}

/** @throws RUN_ERR_FILE_NOT_FOUND, RUN_ERR_STORE, and the errors of `admit` */
async function requireSessionFile(surface: WireSurface, fileId: string, caller: Principal, admit: Admit) {
  const file = await findSessionFile(surface, fileId, caller, admit)
  if (file === undefined) throw new RUN_ERR_FILE_NOT_FOUND(fileId)
  return file
}

const MISSING: readonly unknown[] = ['RUN_ERR_NOT_FOUND', 'RUN_ERR_SESSION_NOT_FOUND']

async function findSessionFile(
  surface: WireSurface,
  fileId: string,
  caller: Principal,
  admit: Admit
): Promise<FileObject | undefined> {
  const { runId } = readFileId(fileId) ?? {}
  if (runId === undefined) return undefined
  try {
    const run = await requireRun(surface, runId, caller)
    const session = await requireSession(surface, run, caller)
    await admit(run.bytes)
    const files = await filesOfTurn(surface, session, { runId, run })
    return files.map((file) => toFile(file, session.sessionId)).find((file) => file.id === fileId)
  } catch (err) {
    if (MISSING.includes(codeOf(err))) return undefined
    throw err
  }
}

function toFile({ runId, fileId, filename, mimeType, size, at }: SessionFile, sessionId: string): FileObject {
  return {
    id: toFileId(runId, fileId),
    type: 'file',
    filename: filename ?? fileId,
    mime_type: mimeType,
    size_bytes: size,
    created_at: new Date(at).toISOString(),
    downloadable: true,
    scope: { type: 'session', id: sessionId }
  }
}
