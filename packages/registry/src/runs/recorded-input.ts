import { hash } from 'node:crypto'
import type { RunInput } from '../contract/content-part.ts'
import { badInput } from './require-input.ts'

const BINARY_TYPES: ReadonlySet<unknown> = new Set(['image', 'audio', 'file'])

/** The fields of a content part that has its bytes, as base64 or as a file. */
interface BinaryContent {
  type: unknown
  mimeType?: unknown
  filename?: unknown
  data?: unknown
  file?: { size?: unknown; sha256?: unknown } | null
}

/**
 * Returns an input as the log keeps it: as JSON, with a reference instead of binary content, at any depth. Base64 is hashed at once, at
 * about 2 ms per MB, which is less than parsing it has cost; a file has a hash only if its `sha256` is known.
 * @throws RUN_ERR_BAD_INPUT if it has no JSON: a cycle, a BigInt, too deep
 */
export function toRecordedInput(input: RunInput): unknown {
  if (typeof input === 'string') return input
  let json: string | undefined
  try {
    json = JSON.stringify(input, (_, value: unknown) => toReference(value) ?? value)
  } catch (err) {
    throw Object.assign(badInput([{ path: 'input', message: 'must be JSON' }]), { cause: err })
  }
  return json === undefined ? undefined : JSON.parse(json)
}

function toReference(value: unknown): object | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { type, mimeType, filename, data, file } = value as BinaryContent
  if (!BINARY_TYPES.has(type) || typeof mimeType !== 'string') return undefined
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
