import { sendFile } from '@svc/registry/kit'
import type { FastifyInstance } from 'fastify'
import { requireTask } from '../tasks/task-access.ts'
import { codecFor } from '../wire/codec-for.ts'
import { toDefaultVersion } from '../wire/versions.ts'
import type { Binding } from './binding.ts'

/** The path of a file, below the endpoint. */
export function filePathOf(taskId: string, fileId: string): string {
  return `/tasks/${encodeURIComponent(taskId)}/files/${encodeURIComponent(fileId)}`
}

/** The files of tasks, to which artifacts refer by their URL; for the caller whose task it is. */
export function fileRoute(scope: FastifyInstance, basePath: string, binding: Binding): void {
  const { surface, versions, streams } = binding
  const a2aCodec = codecFor(toDefaultVersion(versions), 'rest')
  scope.get<{ Params: { taskId: string; fileId: string } }>(
    `${basePath}/tasks/:taskId/files/:fileId`,
    { config: { a2aCodec } },
    async (request, reply) => {
      const { params, a2aPrincipal: principal, log } = request
      const { runId } = await requireTask(surface, { principal }, params.taskId)
      streams.add(reply.raw)
      return sendFile({ files: surface.runs.stores.files, log }, runId, params.fileId, request, reply)
    }
  )
}
