import { requireRun, sendFile } from '@svc/surface'
import { describeOperation, emptyReply, errorReplies, fileReply } from '../openapi/describe-operation.ts'
import { watchClient } from '../starting/start-run.ts'
import { FileHeadersSchema, FileParamsSchema } from '../schemas/parameters.ts'
import type { HttpScope, Surface } from '../surface.ts'

const config = { access: 'authenticated' } as const
const RANGE = 'The range as `bytes first-last/size`'
const schema = {
  ...describeOperation('read-run-file', 'A file of a run, or a range of its bytes'),
  params: FileParamsSchema,
  headers: FileHeadersSchema,
  response: {
    200: fileReply('The file'),
    206: fileReply('The bytes of the range', { 'content-range': RANGE }),
    304: emptyReply('The client has the file already'),
    ...errorReplies(400, 404, 414, 416, 500, 503)
  }
}

/** `/runs/:runId/files/:fileId`: what models and tools of a run made. */
export function runFilesRoutes(scope: HttpScope, surface: Surface): void {
  const { runs, replies } = surface
  const { files } = runs.stores

  scope.get('/runs/:runId/files/:fileId', { schema, config }, async (request, reply) => {
    const { params, principal, log } = request
    const { runId } = await requireRun(surface, params.runId, principal)
    watchClient(replies, reply)
    return sendFile({ files, log }, runId, params.fileId, request, reply)
  })
}
