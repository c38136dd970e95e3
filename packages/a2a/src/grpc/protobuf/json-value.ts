import { WireType, type BinaryReader, type BinaryWriter } from '@bufbuild/protobuf/wire'
import {
  BadProtoError,
  endOf,
  requireKey,
  requireLevel,
  requireWithin,
  skipField,
  tag
} from './proto-bytes.ts'

// The fields of google.protobuf.Value, and the one of Struct, its entries and ListValue.
const NULL = tag(1, WireType.Varint)
const NUMBER = tag(2, WireType.Bit64)
const STRING = tag(3, WireType.LengthDelimited)
const BOOL = tag(4, WireType.Varint)
const STRUCT = tag(5, WireType.LengthDelimited)
const LIST = tag(6, WireType.LengthDelimited)
const ITEM = tag(1, WireType.LengthDelimited)
const KEY = ITEM
const VALUE = tag(2, WireType.LengthDelimited)

/** Texts from this length on are encoded on their own: the writer reserves three bytes for each of their characters. */
const LONG = 65_536

export function writeText(writer: BinaryWriter, text: string): void {
  if (text.length < LONG) writer.string(text)
  else writer.bytes(Buffer.from(text))
}

/** Writes the content of a Value. Numbers that JSON does not have are null, as `JSON.stringify` writes them. */
export function writeValue(writer: BinaryWriter, given: unknown): void {
  const value = toPlain(given)
  if (typeof value === 'string') writeText(writer.uint32(STRING), value)
  else if (typeof value === 'boolean') writer.uint32(BOOL).bool(value)
  else if (typeof value === 'number' && Number.isFinite(value)) writer.uint32(NUMBER).double(value)
  else if (typeof value !== 'object' || value === null) writer.uint32(NULL).uint32(0)
  else {
    writer.uint32(Array.isArray(value) ? LIST : STRUCT).fork()
    if (Array.isArray(value)) writeList(writer, value)
    else writeStruct(writer, value)
    writer.join()
  }
}

/** Writes the content of a Struct. */
export function writeStruct(writer: BinaryWriter, object: object): void {
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined || typeof value === 'function' || typeof value === 'symbol') continue
    writer.uint32(ITEM).fork()
    writeText(writer.uint32(KEY), key)
    writer.uint32(VALUE).fork()
    writeValue(writer, value)
    writer.join().join()
  }
}

function writeList(writer: BinaryWriter, items: readonly unknown[]): void {
  for (const item of items) {
    writer.uint32(ITEM).fork()
    writeValue(writer, item)
    writer.join()
  }
}

// As `JSON.stringify` does.
function toPlain(value: unknown): unknown {
  const { toJSON } = (value ?? {}) as { toJSON?: unknown }
  return typeof toJSON === 'function' ? (toJSON.call(value) as unknown) : value
}

/** Reads a Value; one without content is null. @param levels of nesting that are left @throws BadProtoError */
export function readValue(reader: BinaryReader, end: number, levels: number): unknown {
  let value: unknown = null
  while (reader.pos < end) {
    const read = reader.uint32()
    switch (read) {
      case NULL:
        reader.int32()
        value = null
        break
      case NUMBER:
        value = requireFinite(reader.double())
        break
      case STRING:
        value = reader.string()
        break
      case BOOL:
        value = reader.bool()
        break
      case STRUCT:
        value = readStruct(reader, endOf(reader), levels)
        break
      case LIST:
        value = readList(reader, endOf(reader), levels)
        break
      default:
        skipField(reader, read)
    }
    requireWithin(reader, end)
  }
  return value
}

/** Reads a Struct. @throws BadProtoError */
export function readStruct(reader: BinaryReader, end: number, levels: number): Record<string, unknown> {
  requireLevel(levels)
  const object: Record<string, unknown> = {}
  while (reader.pos < end) {
    const read = reader.uint32()
    if (read === ITEM) readEntry(object, reader, endOf(reader), levels - 1)
    else skipField(reader, read)
    requireWithin(reader, end)
  }
  return object
}

function readEntry(object: Record<string, unknown>, reader: BinaryReader, end: number, levels: number): void {
  let key = ''
  let value: unknown = null
  while (reader.pos < end) {
    const read = reader.uint32()
    if (read === KEY) key = reader.string()
    else if (read === VALUE) value = readValue(reader, endOf(reader), levels)
    else skipField(reader, read)
    requireWithin(reader, end)
  }
  requireKey(key)
  object[key] = value
}

function readList(reader: BinaryReader, end: number, levels: number): unknown[] {
  requireLevel(levels)
  const items: unknown[] = []
  while (reader.pos < end) {
    const read = reader.uint32()
    if (read === ITEM) items.push(readValue(reader, endOf(reader), levels - 1))
    else skipField(reader, read)
    requireWithin(reader, end)
  }
  return items
}

function requireFinite(number: number): number {
  if (!Number.isFinite(number)) throw new BadProtoError('a number is not finite')
  return number
}
