import { Kind, Type, type TSchema } from '@sinclair/typebox'
import { ValueErrorType, type ValueError } from '@sinclair/typebox/errors'
import { Value, ValuePointer } from '@sinclair/typebox/value'
import { describeSchema, describeType, joinWords } from './describe-schema.ts'

/** How many faults are told at most. */
const MAX_FAULTS = 5

/**
 * Why options do not fit their schema: `limits.jsonDepth: expected an integer, got a string; colour: no such option`.
 * Of a choice it tells what is wrong with the alternative that was meant, where that can be seen, else all of them. Values
 * are never told. Undefined when the options fit.
 */
export function tellFaults(schema: TSchema, options: unknown): string | undefined {
  const faults = faultsOf(Value.Errors(schema, options), options)
  if (faults.length === 0) return undefined
  const told = faults.slice(0, MAX_FAULTS).map(tell)
  return [...told, ...(faults.length > MAX_FAULTS ? ['and more'] : [])].join('; ')
}

function tell({ type, path, schema, value }: ValueError): string {
  const at = path.slice(1).split('/').map(unescape).join('.')
  const said =
    type === ValueErrorType.ObjectAdditionalProperties ? tellUnknown(schema) : tellWrong(schema, value)
  return at === '' ? said : `${at}: ${said}`
}

function tellUnknown(schema: TSchema): string {
  const [pattern] = Object.keys((schema['patternProperties'] as object | undefined) ?? {})
  return `no such option${pattern === undefined ? '' : `, expected a name that matches ${new RegExp(pattern)}`}`
}

function tellWrong(schema: TSchema, value: unknown): string {
  const phrases = describeSchema(schema)
  const type = describeType(value)
  const isAlike = phrases.some(
    (each) => each.startsWith(type) || (type === 'a string' && each.startsWith("'"))
  )
  return `expected ${joinWords(phrases, 'or')}, got ${isAlike ? type.replace(/^an? /, 'another ') : type}`
}

// The first at each path.
function faultsOf(errors: Iterable<ValueError>, options: unknown): ValueError[] {
  const first = new Map<string, ValueError>()
  try {
    for (const error of errors) {
      if (!first.has(error.path) && !isInherited(error, options)) first.set(error.path, error)
      if (first.size > MAX_FAULTS) break
    }
  } catch (err) {
    // Of a circle or a function TypeBox makes no hash to look for repeats; what is wrong with them it tells before.
    if (first.size === 0) throw err
  }
  return [...first.values()].flatMap((error) => withoutChoice(error, options))
}

// TypeBox checks the methods of a class, and then misses them as fields of the object.
function isInherited({ type, path, schema }: ValueError, options: unknown): boolean {
  if (type !== ValueErrorType.ObjectRequiredProperty) return false
  const value: unknown = ValuePointer.Get(options, path)
  return value !== undefined && Value.Check(schema, value)
}

// Only faults within a value tell that it is of an alternative's type.
function withoutChoice(error: ValueError, options: unknown): ValueError[] {
  if (error.type !== ValueErrorType.Union) return [error]
  const within = error.errors
    .map((errors) => faultsOf(errors, options))
    .filter((faults) => faults.every(({ path }) => path !== error.path))
  return closest(within) ?? [error]
}

// An alternative whose literals fit is the one that was meant; else the one with the fewest faults, if there is one such.
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

function unescape(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}
