import { codeOf, requireRun } from '@svc/registry/kit'
import { readPresent } from '@svc/registry/wire-kit'
import type { Principal, RunSummary } from '@svc/registry'
import type { Resource, ResourceContents } from '../protocol/results.ts'
import { resourceNotFound } from '../protocol/rpc-error.ts'
import type { Surface } from '../surface.ts'
import { readFile } from '../tools/tool-result.ts'
import { readRunUri, runUri } from './run-uri.ts'

const LISTED = 100
const JSON_LINES = 'application/x-ndjson'

/** The templates of what `readResource` reads. */
export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: 'run://{runId}',
    name: 'run',
    title: 'The log of a run',
    description: 'What a run has done so far: its parts, one JSON a line',
    mimeType: JSON_LINES
  },
  {
    uriTemplate: 'run://{runId}/files/{fileId}',
    name: 'run-file',
    title: 'A file of a run',
    description: 'What the run, its models or its tools have made'
  }
]

/** The newest runs of a caller. */
export async function listResources(
  { runs, exposed }: Surface,
  { sub }: Principal,
  cursor: string | undefined
): Promise<{ resources: Resource[]; nextCursor?: string }> {
  const page = await runs.list({
    scope: exposed.scope(),
    owner: sub,
    limit: LISTED,
    ...(cursor !== undefined && { cursor })
  })
  return {
    resources: page.runs.map(toResource),
    ...(page.nextCursor !== null && { nextCursor: page.nextCursor })
  }
}

/** Reads the log of a run, or a file of it. @throws RpcError, also for runs of others */
export async function readResource(
  surface: Surface,
  principal: Principal,
  uri: string
): Promise<ResourceContents> {
  const named = readRunUri(uri)
  if (named === undefined) throw resourceNotFound(uri)
  const { runId, fileId } = named
  try {
    await requireRun(surface, runId, principal)
  } catch (err) {
    throw codeOf(err) === 'RUN_ERR_NOT_FOUND' ? resourceNotFound(uri) : err
  }
  if (fileId === undefined)
    return { contents: [{ uri, mimeType: JSON_LINES, text: await readLog(surface, runId) }] }
  const found = await surface.runs.stores.files?.get(runId, fileId)
  const bytes = found && (await readFile(surface, runId, fileId))
  if (found === undefined || bytes === undefined) throw resourceNotFound(uri)
  return { contents: [{ uri, mimeType: found.file.mimeType, blob: bytes.toString('base64') }] }
}

async function readLog({ runs }: Surface, runId: string): Promise<string> {
  let text = ''
  for await (const { part } of readPresent(runs.stores, runId)) text += `${JSON.stringify(part)}\n`
  return text
}

function toResource({ runId, kind, name, status, createdAt }: RunSummary): Resource {
  return {
    uri: runUri(runId),
    name: runId,
    title: `${kind} ${name}, ${new Date(createdAt).toISOString()}`,
    description: status,
    mimeType: JSON_LINES
  }
}
