import { WireType, type BinaryReader } from '@bufbuild/protobuf/wire'

/** Bytes that are not a message of their type; the text says why. */
export class BadProtoError extends Error {}

const WIRE_TYPES: readonly WireType[] = [
  WireType.Varint,
  WireType.Bit64,
  WireType.LengthDelimited,
  WireType.StartGroup,
  WireType.EndGroup,
  WireType.Bit32
]

/** The tag of a field: its number and the type of its value. */
export function tag(number: number, type: WireType): number {
  return (number << 3) | type
}

/** Skips a field that is unknown here, as newer versions may have it. @throws BadProtoError */
export function skipField(reader: BinaryReader, read: number): void {
  const number = read >>> 3
  const type = WIRE_TYPES[read & 7]
  if (number === 0 || type === undefined) throw new BadProtoError('a field has no number, or no type')
  reader.skip(type, number)
}

/** What is wrong with bytes, from any error of reading them. */
export function whyBad(err: unknown): string {
  if (err instanceof BadProtoError) return err.message
  if (err instanceof RangeError && /call stack/.test(err.message)) return 'it is nested too deep'
  if ((err as { code?: unknown }).code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'a text is not UTF-8'
  return 'it cannot be parsed'
}

/** Reads the length of a value, and returns where it ends. @throws BadProtoError */
export function endOf(reader: BinaryReader): number {
  const length = reader.uint32()
  const end = reader.pos + length
  if (end > reader.len) throw new BadProtoError('it ends early')
  return end
}

/** @throws BadProtoError if a field ends after its message */
export function requireWithin(reader: BinaryReader, end: number): void {
  if (reader.pos > end) throw new BadProtoError('a field is longer than its message')
}

/** @throws BadProtoError if no level is left */
export function requireLevel(levels: number): void {
  if (levels <= 0) throw new BadProtoError('it is nested too deep')
}

/** @throws BadProtoError for a key that reaches the prototype of an object */
export function requireKey(key: string): void {
  if (key === '__proto__') throw new BadProtoError('it has a forbidden key')
}
