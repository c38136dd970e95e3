import { WireType, type BinaryReader, type BinaryWriter } from '@bufbuild/protobuf/wire'
import { readStruct, readValue, writeStruct, writeText, writeValue } from './json-value.ts'
import { BadProtoError, endOf, requireWithin, skipField, tag } from './proto-bytes.ts'

/** How the JSON of a value is written and read. */
export interface FieldType {
  readonly wire: WireType
  /** True if a field without presence is left out for this value. */
  isUnset(value: unknown): boolean
  write(writer: BinaryWriter, value: unknown): void
  /** `levels` of nesting are left; `known` is what the field has already. @throws BadProtoError */
  read(reader: BinaryReader, levels: number, known: unknown): unknown
}

const never = () => false

/** The scalars, and the well-known types. */
export const FIELD_TYPES: Readonly<Record<string, FieldType>> = {
  string: {
    wire: WireType.LengthDelimited,
    isUnset: (value) => value === '',
    write: (writer, value) => writeText(writer, value as string),
    read: (reader) => reader.string()
  },
  bool: {
    wire: WireType.Varint,
    isUnset: (value) => value === false,
    write: (writer, value) => writer.bool(value as boolean),
    read: (reader) => reader.bool()
  },
  int32: {
    wire: WireType.Varint,
    isUnset: (value) => value === 0,
    write: (writer, value) => writer.int32(value as number),
    read: (reader) => reader.int32()
  },
  bytes: {
    wire: WireType.LengthDelimited,
    isUnset: (value) => value === '',
    write: (writer, value) => writer.bytes(Buffer.from(value as string, 'base64')),
    read: (reader) => toBuffer(reader.bytes()).toString('base64')
  },
  Struct: {
    wire: WireType.LengthDelimited,
    isUnset: never,
    write: (writer, value) => writer.fork() && (writeStruct(writer, value as object), writer.join()),
    read: (reader, levels) => readStruct(reader, endOf(reader), levels)
  },
  Value: {
    wire: WireType.LengthDelimited,
    isUnset: never,
    write: (writer, value) => writer.fork() && (writeValue(writer, value), writer.join()),
    read: (reader, levels) => readValue(reader, endOf(reader), levels)
  },
  Timestamp: {
    wire: WireType.LengthDelimited,
    isUnset: never,
    write: (writer, value) => writer.fork() && (writeTimestamp(writer, value as string), writer.join()),
    read: (reader) => readTimestamp(reader, endOf(reader))
  }
}

/** An enum by its names; a number without one is kept as a text. */
export function enumType(names: readonly string[]): FieldType {
  return {
    wire: WireType.Varint,
    isUnset: (value) => value === names[0],
    write: (writer, value) => writer.int32(Math.max(0, names.indexOf(value as string))),
    read: (reader) => nameOf(names, reader.int32())
  }
}

function nameOf(names: readonly string[], number: number): string {
  return names[number] ?? String(number)
}

/** A view of the same bytes. */
export function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

const SECONDS = tag(1, WireType.Varint)
const NANOS = tag(2, WireType.Varint)
/** The years 1 to 9999, in seconds from 1970: those that a Timestamp may be of. */
const FIRST_SECOND = -62_135_596_800
const LAST_SECOND = 253_402_300_799

function writeTimestamp(writer: BinaryWriter, text: string): void {
  const at = Date.parse(text)
  const seconds = Math.floor(at / 1000)
  if (seconds !== 0) writer.uint32(SECONDS).int64(seconds)
  const nanos = (at - seconds * 1000) * 1_000_000
  if (nanos !== 0) writer.uint32(NANOS).int32(nanos)
}

function readTimestamp(reader: BinaryReader, end: number): string {
  let seconds = 0
  let nanos = 0
  while (reader.pos < end) {
    const read = reader.uint32()
    if (read === SECONDS) seconds = Number(reader.int64())
    else if (read === NANOS) nanos = reader.int32()
    else skipField(reader, read)
    requireWithin(reader, end)
  }
  if (seconds < FIRST_SECOND || seconds > LAST_SECOND || nanos < 0 || nanos > 999_999_999)
    throw new BadProtoError('a time does not exist')
  const whole = new Date(seconds * 1000).toISOString()
  const fraction = String(nanos).padStart(9, '0')
  return whole.replace('.000Z', `.${fraction.endsWith('000000') ? fraction.slice(0, 3) : fraction}Z`)
}
