import { RUN_ERR_FILE_NOT_FOUND } from '@svc/contract/errors'
import {
  filesOfTurn,
  findTurn,
  pageOfItems,
  readFileId,
  reserveLargest,
  sendFile,
  sendJson,
  toFileId,
  turnsFrom,
  turnsOfSession,
  type Admit,
  type SessionTurn
} from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { OPENAI_ERR_BAD_CURSOR, OPENAI_ERR_UNSUPPORTED } from '../../errors.ts'
import type { Surface } from '../../surface.ts'
import type { TurnContext } from '../projection/turn-projection.ts'
import { toSeconds } from '../wire/agent-objects.ts'
import type { SessionArtifact } from '../wire/agent-schemas.ts'
import { toBadCursor, toPage, toPageQuery } from './pages.ts'
import { requireContext } from './read-session.ts'
import {
  ArtifactParamsSchema,
  ArtifactsQuerySchema,
  REPLIES,
  SessionParamsSchema,
  type PageQuery
} from './request-schemas.ts'

/** The only environment: files come from runs, which have none of their own. */
const ENVIRONMENT = 'none'

const tags = ['Artifacts']
const describe = (operationId: string, summary: string) => ({ operationId, tags, summary })
const ARTIFACTS = '/agents/sessions/:session_id/artifacts'
type OfSession = { Params: { session_id: string } }
type OfArtifact = { Params: { session_id: string; artifact_id: string } }

/** The files that the turns of a session have made, as its artifacts. */
export function artifactRoutes(scope: FastifyInstance, surface: Surface): void {
  const { replies, runs } = surface
  const list = {
    ...describe('listArtifacts', 'The files that the turns of a session have made'),
    params: SessionParamsSchema,
    querystring: ArtifactsQuerySchema,
    response: REPLIES.artifacts
  }
  scope.get<OfSession & { Querystring: PageQuery & { environment_id?: string } }>(
    ARTIFACTS,
    { schema: list, exposeHeadRoute: false },
    async ({ params, query, caller }, reply) => {
      const context = await requireContext(surface, params.session_id, caller)
      const { environment_id: environment = ENVIRONMENT } = query
      if (environment !== ENVIRONMENT) return toPage({ items: [], hasMore: false }, undefined)
      const admit = reserveLargest(reply.raw, caller.sub)
      const { after, limit, order } = toPageQuery(query)
      const place = after === undefined ? undefined : readFileId(after)
      if (after !== undefined && place === undefined) throw new OPENAI_ERR_BAD_CURSOR(after)
      const { session } = context
      const turns =
        place === undefined
          ? turnsOfSession(surface, session, caller, order)
          : turnsFrom(surface, session, caller, order, place.runId)
      const read = (turn: SessionTurn) => readArtifacts(surface, context, turn, admit)
      const page = await pageOfItems(turns, read, {
        order,
        limit,
        after: place && { runId: place.runId, id: after! }
      }).catch(toBadCursor(after))
      return sendJson(replies, reply, toPage(page, after))
    }
  )

  const retrieve = {
    ...describe('getArtifact', 'A file that a turn has made'),
    params: ArtifactParamsSchema,
    response: REPLIES.artifact
  }
  scope.get<OfArtifact>(
    `${ARTIFACTS}/:artifact_id`,
    { schema: retrieve, exposeHeadRoute: false },
    async ({ params: { session_id: sessionId, artifact_id: id }, caller }, reply) => {
      const context = await requireContext(surface, sessionId, caller)
      const turn = await findTurn(surface, context.session, readFileId(id)?.runId ?? '', caller)
      const admit = reserveLargest(reply.raw, caller.sub)
      const artifacts = turn === undefined ? [] : await readArtifacts(surface, context, turn, admit)
      const found = artifacts.find((each) => each.id === id)
      if (found === undefined) throw new RUN_ERR_FILE_NOT_FOUND(id)
      return found
    }
  )

  const content = {
    ...describe('getArtifactContent', 'The content of a file that a turn has made'),
    params: ArtifactParamsSchema,
    response: REPLIES.artifactContent
  }
  scope.get<OfArtifact>(`${ARTIFACTS}/:artifact_id/content`, { schema: content }, async (request, reply) => {
    const { params, caller, log } = request
    const { session } = await requireContext(surface, params.session_id, caller)
    const file = readFileId(params.artifact_id)
    const turn = file && (await findTurn(surface, session, file.runId, caller))
    if (turn === undefined) throw new RUN_ERR_FILE_NOT_FOUND(params.artifact_id)
    replies.add(reply.raw)
    return sendFile({ files: runs.stores.files, log }, turn.runId, file!.fileId, request, reply)
  })

  const remove = {
    ...describe('deleteArtifact', 'Refused: files are deleted with their session'),
    params: ArtifactParamsSchema,
    response: REPLIES.refused
  }
  scope.delete(`${ARTIFACTS}/:artifact_id`, { schema: remove }, () => {
    throw new OPENAI_ERR_UNSUPPORTED('deleting one file of a session: delete the session')
  })
}

/** The files that a turn has made, oldest first; none while it goes on. @throws RUN_ERR_STORE, and the errors of `admit` */
async function readArtifacts(
  surface: Surface,
  { session }: TurnContext,
  turn: SessionTurn,
  admit: Admit
): Promise<SessionArtifact[]> {
  await admit(turn.run?.bytes ?? 0)
  const paths = new Set<string>()
  return (await filesOfTurn(surface, session, turn)).map(({ runId, fileId, filename, size, at }) => {
    const named = `/${filename ?? fileId}`
    const path = paths.has(named) ? `/${fileId}${named}` : named
    paths.add(path)
    return {
      id: toFileId(runId, fileId),
      object: 'agent.session.artifact',
      session_id: session.sessionId,
      turn_id: runId,
      environment_id: ENVIRONMENT,
      path,
      size_bytes: size,
      created_at: toSeconds(at)
    }
  })
}
