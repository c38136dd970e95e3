import { hash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { Type, type Static } from '@sinclair/typebox'
import {
  RUN_FORMAT,
  ANONYMOUS,
  defined,
  newRunId,
  randomId,
  toLoggable,
  toPartError,
  type Awaitable,
  type FileContent,
  type InputSummary,
  type PartOf,
  type PendingApproval,
  type PendingInput,
  type RunFence,
  type RunInput,
  type RunLog,
  type Runnable,
  type RunRecord,
  type RunSummary,
  type StoredFile,
  type StoredRun,
  type Stores
} from '@svc/contract'
import { RUN_ERR_DAMAGED } from '@svc/contract/errors'
import { badInput } from './prepare-start.ts'
import type { RegistryIds } from './run-host.ts'
import type { StartOptions } from './start-options.ts'

const NO_INPUTS: StoredRun['inputs'] = []

/** Creates the record of a new run. */
export function newRun(
  runnable: Runnable,
  { registry, principal = ANONYMOUS, userId, sessionId = randomId(), startKey, metadata }: StartOptions,
  surfaces: RegistryIds
): StoredRun {
  const { kind, name } = runnable
  const now = Date.now()
  const run: StoredRun = {
    runId: newRunId(now),
    registry: registry ?? surfaces.registryOf(runnable),
    kind,
    name,
    sessionId,
    owner: principal.sub,
    startKey: startKey ?? null,
    metadata: metadata ?? null,
    createdAt: now,
    queuedAt: null,
    updatedAt: now,
    status: 'submitted',
    epoch: 1,
    format: RUN_FORMAT,
    result: null,
    error: null,
    cancelRequested: false,
    leftTurn: null,
    inputs: NO_INPUTS
  }
  return userId !== undefined && principal.sub === ANONYMOUS.sub ? { ...run, userId } : run
}

/** The first part of a run, with its input as the log has it, if it has it. */
export function toStartPart(
  { runId, sessionId, kind, name, metadata }: StoredRun,
  { afterTurn }: StartOptions,
  input: unknown,
  isQueued = false
): PartOf<'start'> {
  const part: PartOf<'start'> =
    input === undefined
      ? { type: 'start', runId, sessionId, kind, name }
      : { type: 'start', runId, sessionId, kind, name, input }
  if (metadata !== null) part.metadata = metadata
  if (afterTurn !== undefined) part.afterTurn = afterTurn
  if (isQueued) part.queued = true
  return part
}

/** A run as clients see it, without its result; times in ISO 8601, pending approvals and inputs only. */
export function toRunRecord(run: RunSummary): Omit<RunRecord, 'result'> {
  const { runId, kind, name, sessionId, status, queuePosition, metadata, error, waiting } = run
  const { approvals, inputs } = waiting
  return {
    runId,
    kind,
    name,
    sessionId,
    status,
    createdAt: new Date(run.createdAt).toISOString(),
    updatedAt: new Date(run.updatedAt).toISOString(),
    ...(queuePosition !== null && { queuePosition }),
    ...(metadata !== null && { metadata }),
    ...(error !== null && { error: toPartError(error) }),
    pendingApprovals: approvals.first.map((approval) => toPendingApproval(runId, approval)),
    pendingApprovalCount: approvals.count,
    pendingInputs: inputs.first.map((input) => toPendingInput(runId, input)),
    pendingInputCount: inputs.count
  }
}

/** A pending approval as clients see it. */
export function toPendingApproval(runId: string, approval: InputSummary): PendingApproval {
  const { inputId: approvalId, toolCallId = '', toolName = '' } = approval
  return { approvalId, runId, toolCallId, toolName, ...argsAndTime(approval) }
}

/** A pending question or client tool as clients see it. */
export function toPendingInput(runId: string, input: InputSummary): PendingInput {
  const { inputId, kind, message, schema, toolCallId, toolName } = input
  return {
    inputId,
    runId,
    kind: kind as PendingInput['kind'],
    ...defined({ message, schema, toolCallId, toolName }),
    ...argsAndTime(input)
  }
}

function argsAndTime({ args, argsPreview, argsBytes, expiresAt, source }: InputSummary) {
  return {
    ...defined({ args, argsPreview }),
    argsBytes,
    expiresAt: new Date(expiresAt).toISOString(),
    ...(source.length > 0 && { source: [...source] })
  }
}

const BINARY_TYPES: ReadonlySet<unknown> = new Set(['image', 'audio', 'file'])
// Marks a reference until its place is known; no client can guess it.
const MARK = randomId()

/** A content part that has its bytes, as base64 or as a file. */
interface BinaryContent {
  readonly mimeType: string
  readonly filename?: unknown
  readonly data?: unknown
  readonly file?: { size?: unknown; sha256?: unknown; stream?: unknown } | null
}

/** Binary content of an input, and the reference in its place. */
interface ReferredContent {
  readonly content: BinaryContent
  readonly reference: Record<string, unknown>
  /** The keys that lead to the reference. */
  readonly path: readonly string[]
}

/** An input as logs have it. */
export interface LogInput {
  /** JSON, with references instead of binary content. */
  readonly value: unknown
  readonly contents: readonly ReferredContent[]
}

const NO_CONTENTS: readonly ReferredContent[] = []

/**
 * Returns an input as the log keeps it: as JSON, with a reference instead of binary content, at any depth. Base64 is hashed at once, at
 * about 2 ms per MB, which is less than parsing it has cost; a file has a hash only if its `sha256` is known.
 * @throws RUN_ERR_BAD_INPUT if it has no JSON: a cycle, a BigInt, too deep
 */
export function toLogInput(input: RunInput): LogInput {
  if (typeof input === 'string') return { value: input, contents: NO_CONTENTS }
  const found: BinaryContent[] = []
  let json: string | undefined
  try {
    json = JSON.stringify(input, (_, value: unknown) => {
      const reference = isBinary(value) ? toReference(value) : undefined
      return reference === undefined
        ? value
        : { ...reference, [MARK]: found.push(value as BinaryContent) - 1 }
    })
  } catch (err) {
    throw Object.assign(badInput([{ path: 'input', message: 'must be JSON' }]), { cause: err })
  }
  const value: unknown = json === undefined ? undefined : JSON.parse(json)
  return { value, contents: found.length === 0 ? NO_CONTENTS : [...findReferences(value, found)] }
}

function isBinary(value: unknown): value is BinaryContent {
  if (typeof value !== 'object' || value === null) return false
  const { type, mimeType } = value as { type?: unknown; mimeType?: unknown }
  return BINARY_TYPES.has(type) && typeof mimeType === 'string'
}

function toReference(value: BinaryContent & { type?: unknown }): object | undefined {
  const { type, mimeType, filename, data, file } = value
  const content = typeof data === 'string' ? referToBase64(data) : referToFile(file)
  return content && { type, mimeType, ...(filename !== undefined && { filename }), ...content }
}

function referToBase64(data: string): object {
  const bytes = Buffer.from(data, 'base64')
  return { sha256: hash('sha256', bytes, 'hex'), size: bytes.length }
}

function referToFile(file: BinaryContent['file']): object | undefined {
  if (typeof file !== 'object' || file === null || typeof file.size !== 'number') return undefined
  const { size, sha256 } = file
  return { ...(typeof sha256 === 'string' && { sha256 }), size }
}

function* findReferences(
  value: unknown,
  found: readonly BinaryContent[],
  path: readonly string[] = []
): Generator<ReferredContent, void> {
  if (typeof value !== 'object' || value === null) return
  if (Object.hasOwn(value, MARK)) {
    const reference = value as Record<string, unknown>
    const content = found[reference[MARK] as number]!
    delete reference[MARK]
    yield { content, reference, path }
    return
  }
  for (const [key, child] of Object.entries(value)) yield* findReferences(child, found, [...path, key])
}

/** A file of a run that has the bytes of a reference in its input. */
export const CheckpointFileSchema = Type.Object({
  path: Type.Array(Type.String(), { description: 'The keys that lead to the reference' }),
  fileId: Type.String(),
  base64: Type.Boolean({ description: 'Whether the client sent base64; an upload otherwise' })
})
type CheckpointFile = Static<typeof CheckpointFileSchema>

/** An input as a checkpoint has it. */
export interface CheckpointInput {
  /** With references in the places of `files`. */
  readonly input: RunInput
  readonly files: readonly CheckpointFile[]
}

/** Keeps an input for a checkpoint; undefined if it or its bytes are kept nowhere, so that no other process could resume the run. */
export function toCheckpointInput(
  run: { record: RunFence; stores: Pick<Stores, 'files'>; log: RunLog },
  input: RunInput,
  logInput: LogInput | undefined,
  keepsFiles: boolean,
  created: Awaitable<unknown>
): Awaitable<CheckpointInput | undefined> {
  if (logInput === undefined) return undefined
  if (logInput.contents.length === 0) return { input, files: [] }
  return keepsFiles ? keepFiles(logInput, run, created) : undefined
}

/**
 * Keeps the binary content of an input as files of its run, and puts their ids into the references. Undefined if a file could not be
 * kept, which is logged: the run continues, but no other process can resume it.
 * @param created settles once the record of the run is stored
 * @throws what `created` rejects with
 */
export async function keepFiles(
  { value, contents }: LogInput,
  { record, stores, log }: { record: RunFence; stores: Pick<Stores, 'files'>; log: RunLog },
  created: Awaitable<unknown>
): Promise<CheckpointInput | undefined> {
  // A file follows the record of its run.
  await created
  const { runId, epoch } = record
  const fence = { runId, epoch }
  const files: CheckpointFile[] = []
  for (const { content, reference, path } of contents) {
    const { mimeType, filename } = content
    try {
      const file = {
        mimeType,
        ...(typeof filename === 'string' && { filename }),
        content: bytesOf(content)
      }
      const { fileId, size, sha256 } = await stores.files!.put(runId, file, fence)
      Object.assign(reference, { sha256, size, fileId })
      files.push({ path: [...path], fileId, base64: typeof content.data === 'string' })
    } catch (err) {
      log.warn({ runId, err: toLoggable(err) }, 'a file of the input is not kept')
    }
  }
  return files.length === contents.length ? { input: value, files } : undefined
}

function bytesOf({ data, file }: BinaryContent): Uint8Array | AsyncIterable<Uint8Array> {
  return typeof data === 'string' ? Buffer.from(data, 'base64') : (file as FileContent).stream()
}

/**
 * Replaces the references of an input by the bytes of its files: base64 is read at once, an upload when the runnable reads it.
 * @throws RUN_ERR_DAMAGED if a file is missing
 */
export async function restoreInput(
  stores: Pick<Stores, 'files'>,
  runId: string,
  { input, files }: CheckpointInput
): Promise<RunInput> {
  if (files.length === 0) return input
  const restored: unknown = structuredClone(input)
  for (const { path, fileId, base64 } of files) {
    const reference = requireReference(restored, path)
    const read = () => requireFile(stores, runId, fileId)
    const { file, content } = await read()
    for (const key of ['sha256', 'size', 'fileId']) delete reference[key]
    if (base64) reference['data'] = (await buffer(content)).toString('base64')
    else reference['file'] = toFileContent(file, read)
  }
  return restored
}

function requireReference(input: unknown, path: readonly string[]): Record<string, unknown> {
  let value = input
  for (const key of path) value = (value as Record<string, unknown> | null | undefined)?.[key]
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  throw new RUN_ERR_DAMAGED('the place of a file in its input')
}

async function requireFile({ files }: Pick<Stores, 'files'>, runId: string, fileId: string) {
  const found = await files?.get(runId, fileId)
  if (found === undefined) throw new RUN_ERR_DAMAGED('a file of its input is missing')
  return found
}

function toFileContent(
  { size, sha256 }: StoredFile,
  read: () => Promise<{ content: AsyncIterable<Uint8Array> }>
): FileContent {
  return {
    size,
    sha256,
    async *stream() {
      yield* (await read()).content
    }
  }
}
