import { Type, type Static } from '@sinclair/typebox'
import { REG_ERR_BAD_KIND, REG_ERR_BAD_NAME } from './errors.ts'

/** The three kinds of runnable. */
export const RunnableKindSchema = Type.Union(
  [Type.Literal('agent'), Type.Literal('team'), Type.Literal('workflow')],
  { title: 'RunnableKind' }
)
export type RunnableKind = Static<typeof RunnableKindSchema>

/** Every kind, in the order in which lists show them. */
export const RUNNABLE_KINDS: readonly RunnableKind[] = ['agent', 'team', 'workflow']

/** The id of the global registry, and of every registry without an id of its own. */
export const GLOBAL_REGISTRY = 'global'

/** The registry id of runs whose runnable nothing exposes; no surface shows them. */
export const NO_REGISTRY = ''

/** Identifies a runnable within an engine. */
export interface RunnableKey {
  /** The id of its registry. */
  readonly registry: string
  readonly kind: RunnableKind
  readonly name: string
}

/** The maximum length of a name. */
export const MAX_NAME_LENGTH = 128

// Control characters, and characters that need escaping in a URL path segment.
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029/\\?#%]/

/**
 * Returns the name if it is valid: 1–128 characters, no control characters, none of `/ \ ? # %`,
 * no space at either end, well-formed Unicode, and neither `.` nor `..`.
 * @throws REG_ERR_BAD_NAME
 */
export function requireName(name: unknown): string {
  const fault = nameFault(name)
  if (fault !== undefined) throw new REG_ERR_BAD_NAME(fault)
  return name as string
}

/** Returns the kind if it is valid. @throws REG_ERR_BAD_KIND */
export function requireKind(kind: unknown): RunnableKind {
  if (!RUNNABLE_KINDS.includes(kind as RunnableKind))
    throw new REG_ERR_BAD_KIND(typeof kind === 'string' ? kind : typeof kind)
  return kind as RunnableKind
}

function nameFault(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'it must be a string'
  if (name.length === 0) return 'it is empty'
  if (name.length > MAX_NAME_LENGTH) return `it has more than ${MAX_NAME_LENGTH} characters`
  if (FORBIDDEN.test(name)) return 'it has a control character or one of / \\ ? # %'
  if (!name.isWellFormed()) return 'it is not well-formed Unicode'
  if (name !== name.trim()) return 'it begins or ends with a space'
  if (name === '.' || name === '..') return `"${name}" has a meaning of its own in paths`
  return undefined
}
