import { Kind, Type, type TSchema } from '@sinclair/typebox'
import { ValueErrorType, type ValueError } from '@sinclair/typebox/errors'
import { Value, ValuePointer } from '@sinclair/typebox/value'
import { describeSchema, describeType, joinWords } from './describe-schema.ts'
import { MAX_FAULTS, toPath, type Fault } from './format-faults.ts'

/** How faults are looked for. */
export interface FaultOptions {
  /** The name of the value, which begins each path; default none. */
  root?: string
  /** How many faults at most; default one more than a text lists. */
  limit?: number
  /** The message for a field that the schema does not have. */
  unknown?: string
}

/**
 * Finds why a value does not fit its schema, the first fault at each path: `expected an integer, got a string`. If one
 * alternative of a choice was meant, as far as can be seen, its faults are given, else the choice. Never contains a value.
 */
export function findFaults(
  schema: TSchema,
  value: unknown,
  { root = '', limit = MAX_FAULTS + 1, unknown = 'is not known' }: FaultOptions = {}
): Fault[] {
  return firstErrors(Value.Errors(schema, value), value, limit)
    .slice(0, limit)
    .map(({ type, path, schema: expected, value: given, message }) => ({
      path: toPath(root, path),
      message:
        type === ValueErrorType.ObjectAdditionalProperties
          ? describeUnknown(expected, unknown)
          : describeWrong(expected, given, message)
    }))
}

function describeUnknown(schema: TSchema, unknown: string): string {
  const [pattern] = Object.keys((schema['patternProperties'] as object | undefined) ?? {})
  return pattern === undefined ? unknown : `${unknown}, expected a name that matches ${new RegExp(pattern)}`
}

function describeWrong(schema: TSchema, value: unknown, message: string): string {
  const phrases = describeSchema(schema)
  if (phrases.includes(undefined)) return message.charAt(0).toLowerCase() + message.slice(1)
  const known = phrases as string[]
  const type = describeType(value)
  const isAlike = known.some((each) => each.startsWith(type) || (type === 'a string' && each.startsWith("'")))
  return `expected ${joinWords(known, 'or')}, got ${isAlike ? type.replace(/^an? /, 'another ') : type}`
}

function firstErrors(errors: Iterable<ValueError>, root: unknown, limit: number): ValueError[] {
  const first = new Map<string, ValueError>()
  try {
    for (const error of errors) {
      if (!first.has(error.path) && !isInherited(error, root)) first.set(error.path, error)
      if (first.size >= limit) break
    }
  } catch (err) {
    // TypeBox cannot hash a cycle or a function to look for repeats; it reports their own faults before that.
    if (first.size === 0) throw err
  }
  return [...first.values()].flatMap((error) => resolveChoice(error, root, limit))
}

// TypeBox checks the methods of a class, and then misses them as fields of the object.
function isInherited({ type, path, schema }: ValueError, root: unknown): boolean {
  if (type !== ValueErrorType.ObjectRequiredProperty) return false
  const value: unknown = ValuePointer.Get(root, path)
  return value !== undefined && Value.Check(schema, value)
}

// Only faults within a value show that it is of an alternative's type.
function resolveChoice(error: ValueError, root: unknown, limit: number): ValueError[] {
  if (error.type !== ValueErrorType.Union) return [error]
  const within = error.errors
    .map((errors) => firstErrors(errors, root, limit))
    .filter((faults) => faults.every(({ path }) => path !== error.path))
  return closest(within) ?? [error]
}

// The alternative whose literals fit was meant; else the one with the fewest faults, if it is the only such one.
function closest(alternatives: ValueError[][]): ValueError[] | undefined {
  const tagged = alternatives.map((faults) => faults.find(({ schema }) => schema[Kind] === 'Literal'))
  const [tag] = tagged
  if (tag !== undefined && tagged.every((each) => each?.path === tag.path))
    return [{ ...tag, schema: Type.Union(tagged.map((each) => each!.schema)) }]
  const fitting = alternatives.filter((_faults, index) => tagged[index] === undefined)
  const meant = fitting.length > 0 ? fitting : alternatives
  const fewest = Math.min(...meant.map(({ length }) => length))
  const [best, ...others] = meant.filter(({ length }) => length === fewest)
  return others.length === 0 ? best : undefined
}
