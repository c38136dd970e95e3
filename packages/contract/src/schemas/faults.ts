import { Kind, Type, type TSchema } from '@sinclair/typebox'
import { ValueErrorType, type ValueError } from '@sinclair/typebox/errors'
import { Value, ValuePointer } from '@sinclair/typebox/value'
import { isPromise } from '../awaitable.ts'

/** Describes what a schema takes, one phrase for each alternative of a union; undefined where it has no plain words. */
function describeSchema(schema: TSchema): (string | undefined)[] {
  const { anyOf } = schema
  return Array.isArray(anyOf) ? [...new Set(anyOf.flatMap(describeSchema))] : [describeOne(schema)]
}

/** Names a value's type only, in the words of `describeSchema`; the value may be secret. */
function describeType(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (value === '') return 'an empty string'
  if (typeof value === 'number') return describeNumber(value)
  return typeof value === 'object' ? describeObject(value) : `a ${typeof value}`
}

/** `a, b or c`. */
function joinWords(words: readonly string[], last: 'and' | 'or'): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`
}

const WORDS: Readonly<Record<string, string>> = {
  Any: 'a value',
  Boolean: 'a boolean',
  Function: 'a function',
  Null: 'null',
  Uint8Array: 'bytes',
  Unknown: 'a value'
}

function describeOne({ [Kind]: kind, ...schema }: TSchema): string | undefined {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, uniqueItems } = schema
  switch (kind) {
    case 'Literal':
      return typeof schema['const'] === 'string' ? `'${schema['const']}'` : String(schema['const'])
    case 'String':
      return phrase(
        'a string',
        sizeOf(minLength, maxLength, ' characters'),
        shapeOf(schema['pattern']),
        typeof schema['format'] === 'string' && `in the format ${schema['format']}`
      )
    case 'Integer':
      return phrase('an integer', rangeOf(minimum, maximum))
    case 'Number':
      return phrase('a number', rangeOf(minimum, maximum))
    case 'Array':
      return phrase('a list', sizeOf(minItems, maxItems), uniqueItems === true && 'without repeats')
    case 'Object':
    case 'Record':
      return phrase('an object', sizeOf(schema['minProperties']), fieldsOf(schema['required']))
    default:
      return WORDS[kind]
  }
}

function describeNumber(value: number): string {
  if (!Number.isFinite(value)) return 'a number that is not finite'
  return Number.isInteger(value) ? 'an integer' : 'a number'
}

function describeObject(value: object): string {
  try {
    if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
    if (isPromise(value)) return 'a promise'
    if (ArrayBuffer.isView(value)) return 'bytes'
    const isPlain = Object.getPrototypeOf(value) === Object.prototype
    return isPlain && Object.keys(value).length === 0 ? 'an empty object' : 'an object'
  } catch {
    // A getter or a proxy that throws.
    return 'an object'
  }
}

function phrase(noun: string, ...more: (string | false | undefined)[]): string {
  const said = more.filter((each) => typeof each === 'string').join(', ')
  return said === '' ? noun : `${noun} ${said}`
}

function sizeOf(least?: number, most?: number, unit = ''): string | undefined {
  if (least === 1 && most === undefined) return 'that is not empty'
  if (least !== undefined && most !== undefined) return `of ${least} to ${most}${unit}`
  return boundOf(least, most, unit)
}

function rangeOf(least?: number, most?: number): string | undefined {
  return least !== undefined && most !== undefined ? `from ${least} to ${most}` : boundOf(least, most)
}

function boundOf(least?: number, most?: number, unit = ''): string | undefined {
  if (least !== undefined) return `of at least ${least}${unit}`
  return most === undefined ? undefined : `of at most ${most}${unit}`
}

function shapeOf(pattern?: string): string | undefined {
  return pattern === undefined ? undefined : `that matches ${new RegExp(pattern)}`
}

function fieldsOf(required?: readonly string[]): string | undefined {
  return required === undefined ? undefined : `with ${joinWords(required, 'and')}`
}

/** A fault of a value, and where it is: a name of the value, then a JSON pointer: `body/input/0/data`. */
export interface Fault {
  readonly path: string
  readonly message: string
}

/** The most faults that a text lists. */
export const MAX_FAULTS = 5
/** The most characters of a path, and of a name in it, which may come from a client. */
const MAX_PATH_LENGTH = 256
const MAX_NAME_LENGTH = 100
/** The most characters of a message, which may quote a value. */
const MAX_MESSAGE_LENGTH = 1_000

/** Formats faults as one text, `limits/maxRuns: expected …; colour: …`; `subject` names the value as a whole. */
export function formatFaults(faults: readonly Fault[], subject = ''): string {
  const texts = faults.slice(0, MAX_FAULTS).map(({ path, message }) => {
    const place = path === '' ? subject : path
    return place === '' ? message : `${place}: ${message}`
  })
  return [...texts, ...(faults.length > MAX_FAULTS ? ['and more'] : [])].join('; ')
}

/** The path of a JSON pointer in a named value; `root` may be empty. */
function toPath(root: string, pointer: string): string {
  const path = root === '' ? pointer.slice(1) : root + pointer
  return path.length > MAX_PATH_LENGTH ? `${path.slice(0, MAX_PATH_LENGTH)}…` : path
}

/** The path of a member of the value at a path; a long name is cut. */
export function memberPath(path: string, key: string | number): string {
  if (typeof key === 'number') return toPath(path, `/${key}`)
  const name = key.length > MAX_NAME_LENGTH ? `${key.slice(0, MAX_NAME_LENGTH)}…` : key
  return toPath(path, `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
}

/** The names in a path. */
export function keysOf(path: string): string[] {
  return path === '' ? [] : path.split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** An issue of a Standard Schema (standardschema.dev). */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The faults of a Standard Schema's issues, in its own words; a long message is cut. */
export function faultsOfIssues(issues: readonly StandardIssue[], root = '', limit = MAX_FAULTS + 1): Fault[] {
  return issues.slice(0, limit).map(({ message, path = [] }) => {
    const keys = path.map((each) => (typeof each === 'object' ? each.key : each))
    return {
      path: keys.reduce<string>((at, key) => memberPath(at, String(key)), root),
      message: cut(message)
    }
  })
}

function cut(message: string): string {
  return message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)}…` : message
}

/** An error of Ajv, as far as its faults need it. */
export interface AjvError {
  readonly keyword: string
  readonly instancePath: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string | undefined
}

/** The faults that Ajv found, the first at each path, in its own words but for names and literals. */
export function toFaults(errors: readonly AjvError[], root = '', limit = MAX_FAULTS + 1): Fault[] {
  // Ajv reports each literal of a choice, and then the choice itself: one fault.
  const choices = new Set(
    errors.filter(({ keyword }) => keyword === 'anyOf').map((each) => each.instancePath)
  )
  const faults = new Map<string, Fault>()
  for (const error of errors) {
    if (error.keyword !== 'anyOf' && choices.has(error.instancePath)) continue
    const fault = toFault(error, root, errors)
    if (!faults.has(fault.path)) faults.set(fault.path, fault)
    if (faults.size === limit) break
  }
  return [...faults.values()]
}

function toFault(
  { keyword, instancePath, params, message = 'does not fit' }: AjvError,
  root: string,
  all: readonly AjvError[]
): Fault {
  const path = toPath(root, instancePath)
  switch (keyword) {
    case 'required':
      return { path: memberPath(path, String(params['missingProperty'])), message: 'is required' }
    case 'additionalProperties':
      return { path: memberPath(path, String(params['additionalProperty'])), message: 'is not known' }
    case 'enum':
      return { path, message: mustBeOneOf(params['allowedValues'] as unknown[]) }
    case 'anyOf': {
      const options = all.filter((each) => each.keyword !== 'anyOf' && each.instancePath === instancePath)
      if (!options.every((each) => each.keyword === 'const')) return { path, message }
      return { path, message: mustBeOneOf(options.map((each) => each.params['allowedValue'])) }
    }
    default:
      return { path, message }
  }
}

/** The message for a value that is none of these. */
export function mustBeOneOf(values: readonly unknown[]): string {
  return `must be one of ${values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(', ')}`
}

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
