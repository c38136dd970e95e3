import type { TSchema } from '@sinclair/typebox'
import { TypeCompiler, type TypeCheck } from '@sinclair/typebox/compiler'
import {
  findFaults,
  formatFaults,
  PART_SCHEMAS,
  RUN_ERR_BAD_PART,
  ZERO_USAGE,
  type LogEntry,
  type Part,
  type PartType,
  type YieldedPart
} from '@svc/contract'
import { encodeJson } from './encode-json.ts'
import { toFlatEntry } from './flat-entry.ts'
import { entryFromJson } from '@svc/contract/stores'

/**
 * Encodes a part at its place in the log.
 * @param at milliseconds since the epoch
 * @throws RUN_ERR_BAD_PART if it has no JSON (a cycle, a BigInt)
 */
export function encodePart(seq: number, at: number, part: Part): LogEntry {
  return toFlatEntry(seq, at, part) ?? entryFromJson(seq, encodeJson(seq, at, part))
}

/** The time of a part that follows one of `at`, in milliseconds since the epoch: now, unless the clock was set back. */
export function timeAfter(at: number): number {
  const now = Date.now()
  return now < at ? at : now
}

// Parts that only the engine may write.
const WRITTEN_BY_ENGINE = new Set([
  'tool.approval.request',
  'tool.approval.response',
  'input.request',
  'input.response'
])
const checks = new Map<string, TypeCheck<TSchema>>()

/**
 * Checks that a yielded value is a part that runnables may yield. The fields of `start` are not checked: the engine writes its
 * own.
 * @throws RUN_ERR_BAD_PART
 */
export function requirePart(value: unknown): asserts value is YieldedPart {
  const { type, text, source, toJSON } = (value ?? {}) as Record<string, unknown>
  if (toJSON !== undefined) throw new RUN_ERR_BAD_PART('toJSON would replace it')
  if (type === 'text' && typeof text === 'string' && source === undefined) return
  if (typeof type !== 'string' || !Object.hasOwn(PART_SCHEMAS, type))
    throw new RUN_ERR_BAD_PART(typeof type === 'string' ? `unknown type "${type.slice(0, 64)}"` : 'no type')
  if (WRITTEN_BY_ENGINE.has(type)) throw new RUN_ERR_BAD_PART(`${type} is written by the engine`)
  if (type === 'start') return
  const check = checkFor(type as PartType)
  const whole = wholePart(value as YieldedPart)
  if (check.Check(whole)) return
  throw new RUN_ERR_BAD_PART(
    formatFaults(findFaults(PART_SCHEMAS[type as PartType], whole, { root: type, limit: 1 }))
  )
}

/** Fills in omitted fields, and null for values without JSON. */
export function wholePart(part: YieldedPart): Part {
  switch (part.type) {
    case 'tool.call':
      return hasJson(part.args) ? part : { ...part, args: null }
    case 'tool.result':
      return hasJson(part.result) ? part : { ...part, result: null }
    case 'data':
    case 'structured':
      return hasJson(part.value) ? part : { ...part, value: null }
    case 'finish': {
      const { structured } = part
      const whole = { usage: ZERO_USAGE, durationMs: 0, ...part }
      return { ...whole, structured: hasJson(structured) ? structured : null }
    }
    default:
      return part
  }
}

function hasJson(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}

function checkFor(type: PartType): TypeCheck<TSchema> {
  let check = checks.get(type)
  if (check === undefined) checks.set(type, (check = TypeCompiler.Compile(PART_SCHEMAS[type])))
  return check
}
