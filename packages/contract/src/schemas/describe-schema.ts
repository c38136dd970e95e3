import { Kind, type TSchema } from '@sinclair/typebox'
import { isPromise } from '../ports/awaitable.ts'

/** Describes what a schema takes, one phrase for each alternative of a union; undefined where it has no plain words. */
export function describeSchema(schema: TSchema): (string | undefined)[] {
  const { anyOf } = schema
  return Array.isArray(anyOf) ? [...new Set(anyOf.flatMap(describeSchema))] : [describeOne(schema)]
}

/** Names a value's type only, in the words of `describeSchema`; the value may be secret. */
export function describeType(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (value === '') return 'an empty string'
  if (typeof value === 'number') return describeNumber(value)
  return typeof value === 'object' ? describeObject(value) : `a ${typeof value}`
}

/** `a, b or c`. */
export function joinWords(words: readonly string[], last: 'and' | 'or'): string {
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
