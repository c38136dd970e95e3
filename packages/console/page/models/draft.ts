import { followStream } from '../api/event-stream.ts'
import { readFile, runStream } from '../api/resources.ts'
import type { RunModel } from './run-model.ts'

/** A message before it is sent. */
export interface Draft {
  /** A text, or the JSON of a runnable with a schema. */
  readonly input: unknown
  readonly files: readonly File[]
  /** Parts of the message that are neither, such as addresses of images. */
  readonly rest: readonly PartLike[]
}

type PartLike = Readonly<Record<string, unknown>>

/** What a run was asked, to be sent again. @throws ApiError, and an Error if its files were not kept */
export async function draftOf(
  runId: string,
  live: RunModel | undefined,
  signal: AbortSignal
): Promise<Draft> {
  if (live?.asked !== undefined) return toDraft(live.asked.input, live.asked.files ?? [])
  const input = live?.start?.input ?? (await readInput(runId, signal))
  if (!isMessage(input)) return toDraft(input, [])
  const references = input.filter(({ type, url }) => type !== 'text' && url === undefined)
  const files = await Promise.all(references.map((part) => toFile(runId, part, signal)))
  return toDraft(
    input.filter((part) => !references.includes(part)),
    files
  )
}

/** The input of a start. */
export function inputOf({ input, rest }: Draft): unknown {
  if (rest.length === 0) return input
  return input === '' ? rest : [{ type: 'text', text: input }, ...rest]
}

function toDraft(input: unknown, files: readonly File[]): Draft {
  if (!isMessage(input)) return { input, files, rest: [] }
  const texts = input.filter(({ type }) => type === 'text')
  const rest = input.filter((part) => !texts.includes(part))
  return { input: texts.map(({ text }) => String(text)).join('\n\n'), files, rest }
}

// The log of a run begins with it.
async function readInput(runId: string, signal: AbortSignal): Promise<unknown> {
  let input: unknown
  let fault: Error | undefined
  await followStream(
    runStream(runId),
    {
      onParts: ([first]) => {
        if (first?.type === 'start') input ??= first.input
      },
      onState: (state) => {
        if (state.is === 'failed') fault = state.error
      },
      isLast: ({ type }) => type === 'start'
    },
    signal
  )
  if (fault !== undefined) throw fault
  return input
}

async function toFile(
  runId: string,
  { fileId, filename, mimeType }: PartLike,
  signal: AbortSignal
): Promise<File> {
  if (typeof fileId !== 'string')
    throw new Error('The files of this message were not kept: attach them again.')
  const type = String(mimeType)
  const content = await readFile(runId, fileId, type, signal)
  return new File([content], typeof filename === 'string' ? filename : 'file', { type })
}

function isMessage(input: unknown): input is readonly PartLike[] {
  return (
    Array.isArray(input) &&
    input.length > 0 &&
    input.every((part: { type?: unknown } | null) => typeof part?.type === 'string')
  )
}

/** A random id of 128 bits. `crypto.randomUUID` is missing in pages that were loaded without TLS. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
