import {
  createFileRegistry,
  fromBinary,
  fromJson,
  toBinary,
  toJson,
  type DescMessage,
  type DescService,
  type JsonValue
} from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { findJsonFault } from '@svc/contract'
import { DESCRIPTORS } from '../wire/descriptors.ts'

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, Buffer.from(DESCRIPTORS, 'base64')))

/** Bytes that are not a message of their type; the text says why. */
export class BadProtoError extends Error {}

/** The description of a service, by its full name. */
export function serviceOf(name: string): DescService {
  return registry.getService(name)!
}

/** The description of a message, by its full name. */
export function messageOf(name: string): DescMessage {
  return registry.getMessage(name)!
}

/** Encodes what `JSON.stringify` makes of a value; fields that the message does not have are left out. */
export function encodeMessage(type: DescMessage, value: object): Buffer {
  const json = JSON.parse(toWellFormed(JSON.stringify(value))) as JsonValue
  const options = { ignoreUnknownFields: true, recursionLimit: Number.POSITIVE_INFINITY, registry }
  const { buffer, byteOffset, byteLength } = toBinary(type, fromJson(type, json, options))
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** Decodes a message to its JSON; unknown fields are skipped. @param levels of nesting that are allowed @throws BadProtoError */
export function decodeMessage(type: DescMessage, bytes: Uint8Array, levels: number): Record<string, unknown> {
  try {
    // A list or an object in a Value is two messages.
    const message = fromBinary(type, bytes, { readUnknownFields: false, recursionLimit: 2 * levels })
    const json = toJson(type, message) as Record<string, unknown>
    const fault = findJsonFault(json, levels)
    if (fault === undefined) return json
    throw new BadProtoError(fault)
  } catch (err) {
    throw err instanceof BadProtoError ? err : new BadProtoError(whyBad(err as Error))
  }
}

/** Halves of surrogate pairs, which UTF-8 does not have, become U+FFFD. A delta may end within a pair. */
function toWellFormed(json: string): string {
  if (!json.includes(String.raw`\ud`)) return json
  return json.replaceAll(/(?<!\\)((?:\\\\)*)\\ud[\da-f]{3}/g, String.raw`$1\ufffd`)
}

const REASONS: readonly [of: RegExp, reason: string][] = [
  [/recursion depth|call stack/, 'it is nested too deep'],
  [/encoded data was not valid/, 'a text is not UTF-8'],
  [/NaN|Infinity/, 'a number is not finite'],
  [/google\.protobuf\.Timestamp/, 'a time does not exist']
]

// The library's own texts are about its internals.
function whyBad({ message }: Error): string {
  return REASONS.find(([of]) => of.test(message))?.[1] ?? 'it cannot be parsed'
}
