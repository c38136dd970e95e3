import type { RunInput } from '@svc/contract'
import type { StartOptions } from './start-options.ts'

/** The parts of a run that take memory while it waits. */
export interface HoldingRun {
  readonly input: RunInput
  readonly options: Pick<StartOptions, 'messages' | 'instructions' | 'tools' | 'envelope'>
  /** `bytes`: of its log, about as many as its prompt and its state have. */
  readonly writer: { readonly bytes: number }
}

// What any run takes besides its data.
const OWN = 16_384

/** The bytes, about, that a run takes in memory. */
export function heldBytesOf({ input, options, writer }: HoldingRun): number {
  const { messages, instructions, tools, envelope } = options
  return OWN + writer.bytes + sizeOf([input, messages, instructions, tools, envelope], new Set())
}

function sizeOf(value: unknown, seen: Set<object>): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value !== 'object' || value === null || seen.has(value)) return 0
  seen.add(value)
  if (ArrayBuffer.isView(value)) return value.byteLength
  // An upload.
  if ('stream' in value && 'size' in value && typeof value.size === 'number') return value.size
  let size = 0
  for (const each of Object.values(value)) size += sizeOf(each, seen)
  return size
}
