import { hash } from 'node:crypto'
import { randomId, type RunInput } from '@svc/contract'
import { badInput } from './require-input.ts'

const BINARY_TYPES: ReadonlySet<unknown> = new Set(['image', 'audio', 'file'])
// Marks a reference until its place is known; no client can guess it.
const MARK = randomId()

/** A content part that has its bytes, as base64 or as a file. */
export interface BinaryContent {
  readonly mimeType: string
  readonly filename?: unknown
  readonly data?: unknown
  readonly file?: { size?: unknown; sha256?: unknown; stream?: unknown } | null
}

/** Binary content of an input, and the reference in its place. */
export interface ReferredContent {
  readonly content: BinaryContent
  readonly reference: Record<string, unknown>
  /** The keys that lead to the reference. */
  readonly path: readonly string[]
}

/** An input as logs have it. */
export interface RecordedInput {
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
export function toRecordedInput(input: RunInput): RecordedInput {
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
