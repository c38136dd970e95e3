import { pathSegment, sendFile } from '@svc/surface'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireTask } from '../tasks/task-access.ts'
import { codecFor } from '../wire/codec-for.ts'
import { toDefaultVersion } from '../wire/versions.ts'
import type { AgentPaths } from './agent-paths.ts'
import { toOwnBinding, type Binding } from './binding.ts'

interface FileParams {
  taskId: string
  fileId: string
}

/** The path of a file, below the endpoint. */
export function filePathOf(taskId: string, fileId: string): string {
  return `/tasks/${pathSegment(taskId)}/files/${pathSegment(fileId)}`
}

/** The files of tasks, to which artifacts refer by their URL; for the caller whose task it is. */
export function fileRoute(scope: FastifyInstance, basePath: string, binding: Binding): void {
  const a2aCodec = codecFor(toDefaultVersion(binding.versions), 'rest')
  scope.get<{ Params: FileParams }>(
    `${basePath}/tasks/:taskId/files/:fileId`,
    { config: { a2aCodec } },
    (request, reply) => sendTaskFile(binding, request.params, request, reply)
  )
}

/** The files of an agent's tasks, below its endpoint. */
export function agentFileRoute(
  scope: FastifyInstance,
  basePath: string,
  binding: Binding,
  paths: AgentPaths
): void {
  const a2aCodec = codecFor(toDefaultVersion(binding.versions), 'rest')
  const constraints = paths.only('file')
  scope.get(`${basePath}/*`, { constraints, config: { a2aCodec } }, async (request, reply) => {
    const { agent, params } = paths.of(request)
    return sendTaskFile(await toOwnBinding(binding, agent), params as unknown as FileParams, request, reply)
  })
}

async function sendTaskFile(
  { surface, streams }: Binding,
  { taskId, fileId }: FileParams,
  request: FastifyRequest,
  reply: FastifyReply
) {
  const { caller: principal, log } = request
  const { runId } = await requireTask(surface, { principal }, taskId)
  streams.add(reply.raw)
  return sendFile({ files: surface.runs.stores.files, log }, runId, fileId, request, reply)
}
