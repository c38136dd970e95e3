import { createHash } from 'node:crypto'
import type { ContentReference, ToolError } from '@svc/contract'

/** The first characters of images in base64, by media type. */
const SIGNATURES: readonly (readonly [prefix: string, mimeType: string])[] = [
  ['iVBORw0KGg', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
  ['R0lGOD', 'image/gif']
]
// Shorter texts may begin like an image by accident, and are no burden.
const MIN_LENGTH = 64

/** The calls that providers execute, by their ids; a result may arrive in a later step than its call. */
export type ProviderCalls = Map<string, ProviderOutcome['call'] & { readonly startedAt: number }>

/** A tool call the provider executed, with its outcome. */
export interface ProviderOutcome {
  readonly call: { readonly toolCallId: string; readonly toolName: string; readonly args: unknown }
  readonly result?: unknown
  readonly error?: ToolError
}

/** An image in the result of a tool that the provider executes. */
export interface ResultImage {
  readonly mimeType: string
  /** Base64. */
  readonly data: string
}

/**
 * Separates a generated image from a result: `{ result: '<base64>' }`, as OpenAI's image generation has it, becomes
 * `{ result: { type: 'image', mimeType, sha256, size } }`. Other results stay as they are.
 */
export function separateImage(result: unknown): { shown: unknown; image?: ResultImage } {
  if (typeof result !== 'object' || result === null || !('result' in result)) return { shown: result }
  const { result: data } = result
  if (typeof data !== 'string' || data.length < MIN_LENGTH) return { shown: result }
  const mimeType = SIGNATURES.find(([prefix]) => data.startsWith(prefix))?.[1]
  if (mimeType === undefined || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return { shown: result }
  const bytes = Buffer.from(data, 'base64')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const reference: ContentReference = { type: 'image', mimeType, sha256, size: bytes.length }
  return { shown: { ...result, result: reference }, image: { mimeType, data } }
}
