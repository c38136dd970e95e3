import { codeOf, type Principal, type RunSummary } from '@svc/contract'
import { readPresent, requireRun } from '@svc/surface'
import { resourceNotFound, type Resource, type ResourceContents } from '../protocol/message.ts'
import type { Call } from '../server/call.ts'
import type { Surface } from '../surface.ts'
import { collect } from '../tools/tool-result.ts'
import { fileUri, readRunUri, runUri } from './run-uri.ts'

type Contents = ResourceContents['contents']

const LISTED = 100
/** Characters of a log on one page; a larger part has a page to itself. */
const PAGE = 1_048_576
/** Bytes of a file on one page, whose Base64 has no padding, so that those of pages can be joined. */
const FILE_PAGE = 786_432
const JSON_LINES = 'application/x-ndjson'

/** The templates of what `readResource` reads. */
export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: 'run://{runId}{?after}',
    name: 'run',
    title: 'The log of a run',
    description:
      'What a run has done so far: its parts, one JSON a line. A long one ends with a link to its next page, which begins after a part',
    mimeType: JSON_LINES
  },
  {
    uriTemplate: 'run://{runId}/files/{fileId}{?from}',
    name: 'run-file',
    title: 'A file of a run',
    description:
      'What the run, its models or its tools have made. A large one ends with a link to its next page, which begins at a byte'
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

/**
 * Reads the log of a run, or a file of it. What is larger than a page is read page by page: each ends with a link to the next one.
 * @throws RpcError, also for runs of others
 */
export async function readResource(
  surface: Surface,
  { principal, exchange }: Pick<Call, 'principal' | 'exchange'>,
  uri: string
): Promise<ResourceContents> {
  const named = readRunUri(uri)
  if (named === undefined) throw resourceNotFound(uri)
  const { runId, fileId, place } = named
  const { bytes } = await requireRun(surface, runId, principal).catch((err: unknown) => {
    throw codeOf(err) === 'RUN_ERR_NOT_FOUND' ? resourceNotFound(uri) : err
  })
  await exchange.reserve(principal.sub, fileId === undefined ? Math.min(bytes, PAGE) : PAGE)
  const contents =
    fileId === undefined
      ? await readLog(surface, uri, runId, place)
      : await readFilePage(surface, uri, runId, fileId, place)
  if (contents === undefined) throw resourceNotFound(uri)
  return { contents }
}

async function readLog({ runs }: Surface, uri: string, runId: string, after: number): Promise<Contents> {
  const lines: string[] = []
  let left = PAGE
  let last = after
  for await (const { seq, json } of readPresent(runs.stores, runId, after)) {
    left -= json.length + 1
    if (left < 0 && lines.length > 0) return [toText(lines), linkTo(runUri(runId, last))]
    lines.push(json)
    last = seq
  }
  return [toText(lines)]

  function toText(of: readonly string[]) {
    return { uri, mimeType: JSON_LINES, text: of.map((line) => `${line}\n`).join('') }
  }
}

async function readFilePage(
  { runs }: Surface,
  uri: string,
  runId: string,
  fileId: string,
  from: number
): Promise<Contents | undefined> {
  const end = from + FILE_PAGE
  const found = await runs.stores.files?.get(runId, fileId, { start: from, end })
  if (found === undefined || (from > 0 && from >= found.file.size)) return undefined
  const { mimeType, size } = found.file
  const blob = { uri, mimeType, blob: (await collect(found.content)).toString('base64') }
  return end < size ? [blob, linkTo(fileUri(runId, fileId, end))] : [blob]
}

// As a list of URIs (RFC 2483), so that a model reads where it continues.
function linkTo(next: string) {
  return { uri: next, mimeType: 'text/uri-list', text: `# It continues here:\r\n${next}\r\n` }
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
