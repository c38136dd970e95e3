import { buffer } from 'node:stream/consumers'
import { Type, type Static } from '@sinclair/typebox'
import {
  RUN_ERR_DAMAGED,
  toLoggable,
  type Awaitable,
  type FileContent,
  type RunFence,
  type RunInput,
  type RunLog,
  type StoredFile,
  type Stores
} from '@svc/contract'
import type { BinaryContent, RecordedInput } from './recorded-input.ts'

/** A file of a run that has the bytes of a reference in its input. */
export const KeptFileSchema = Type.Object({
  path: Type.Array(Type.String(), { description: 'The keys that lead to the reference' }),
  fileId: Type.String(),
  base64: Type.Boolean({ description: 'Whether the client sent base64; an upload otherwise' })
})
export type KeptFile = Static<typeof KeptFileSchema>

/** An input as a checkpoint has it. */
export interface KeptInput {
  /** With references in the places of `files`. */
  readonly input: RunInput
  readonly files: readonly KeptFile[]
}

/** Keeps an input; undefined if it or its bytes are kept nowhere, so that no other process could resume the run. */
export function keepRecorded(
  run: { record: RunFence; stores: Pick<Stores, 'files'>; log: RunLog },
  input: RunInput,
  recorded: RecordedInput | undefined,
  keepsFiles: boolean,
  created: Awaitable<unknown>
): Awaitable<KeptInput | undefined> {
  if (recorded === undefined) return undefined
  if (recorded.contents.length === 0) return { input, files: [] }
  return keepsFiles ? keepInput(recorded, run, created) : undefined
}

/**
 * Keeps the binary content of an input as files of its run, and puts their ids into the references. Undefined if a file could not be
 * kept, which is logged: the run continues, but no other process can resume it.
 * @param created settles once the record of the run is stored
 * @throws what `created` rejects with
 */
export async function keepInput(
  { value, contents }: RecordedInput,
  { record, stores, log }: { record: RunFence; stores: Pick<Stores, 'files'>; log: RunLog },
  created: Awaitable<unknown>
): Promise<KeptInput | undefined> {
  // A file follows the record of its run.
  await created
  const { runId, epoch } = record
  const fence = { runId, epoch }
  const kept: KeptFile[] = []
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
      kept.push({ path: [...path], fileId, base64: typeof content.data === 'string' })
    } catch (err) {
      log.warn({ runId, err: toLoggable(err) }, 'a file of the input is not kept')
    }
  }
  return kept.length === contents.length ? { input: value, files: kept } : undefined
}

function bytesOf({ data, file }: BinaryContent): Uint8Array | AsyncIterable<Uint8Array> {
  return typeof data === 'string' ? Buffer.from(data, 'base64') : (file as FileContent).stream()
}

/**
 * Replaces the references of a kept input by the bytes of its files: base64 is read at once, an upload when the runnable reads it.
 * @throws RUN_ERR_DAMAGED if a file is missing
 */
export async function restoreInput(
  stores: Pick<Stores, 'files'>,
  runId: string,
  { input, files }: KeptInput
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
