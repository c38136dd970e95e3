import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { ProtoField, ProtoTable } from '../../wire/proto-table.ts'
import { enumType, FIELD_TYPES, toBuffer, type FieldType } from './field-type.ts'
import {
  BadProtoError,
  endOf,
  requireKey,
  requireLevel,
  requireWithin,
  skipField,
  tag,
  whyBad
} from './proto-bytes.ts'

type Fields = Record<string, unknown>

/** A message: its plain JSON ↔ bytes. */
export interface MessageType {
  encode(json: object): Buffer
  /** Unknown fields are skipped. @param levels of nesting that are allowed @throws BadProtoError */
  decode(bytes: Uint8Array, levels: number): Fields
}

// Strict: U+FEFF is text, and what is not UTF-8 is refused.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const decodeUtf8 = (bytes: Uint8Array) => decoder.decode(bytes)

/** Compiles the messages of a table, by name. */
export function compileMessages({
  messages,
  enums
}: Pick<ProtoTable, 'messages' | 'enums'>): (name: string) => MessageType {
  const compiled = new Map<string, Message>()
  // Messages contain each other, so each gets its fields after all exist.
  for (const name of Object.keys(messages)) compiled.set(name, new Message())
  const typeOf = (name: string): FieldType => {
    const names = enums[name]
    const type = FIELD_TYPES[name] ?? (names === undefined ? compiled.get(name) : enumType(names))
    if (type === undefined) throw new Error(`no type ${name}`)
    return type
  }
  for (const [name, fields] of Object.entries(messages)) {
    const all = Object.entries(fields).map(([json, field]) => toField(json, field, typeOf))
    compiled.get(name)!.add(all)
  }
  return (name) => typeOf(name) as Message
}

/** A field as the loops below use it. */
interface Field {
  readonly name: string
  readonly type: FieldType
  readonly tag: number
  readonly kind: 'single' | 'repeated' | 'map'
  /** True if the value of an unset field is written too. */
  readonly hasPresence: boolean
  readonly isOneOf: boolean
}

const MARKED = /^(\w+)(\[\]|\{\}|\?|\||)$/

function toField(name: string, [number, marked]: ProtoField, typeOf: (name: string) => FieldType): Field {
  const [, typeName = '', mark = ''] = MARKED.exec(marked) ?? []
  const type = typeOf(typeName)
  const kind = mark === '[]' ? 'repeated' : mark === '{}' ? 'map' : 'single'
  const wire = kind === 'map' ? WireType.LengthDelimited : type.wire
  return {
    name,
    type,
    tag: tag(number, wire),
    kind,
    hasPresence: kind === 'repeated' || mark === '?' || mark === '|',
    isOneOf: mark === '|'
  }
}

class Message implements MessageType, FieldType {
  readonly wire = WireType.LengthDelimited
  #fields: readonly Field[] = []
  // By tag, which are few and small.
  readonly #byTag: (Field | undefined)[] = []
  #oneOf: readonly string[] = []

  add(fields: readonly Field[]): void {
    this.#fields = fields
    this.#oneOf = fields.filter(({ isOneOf }) => isOneOf).map(({ name }) => name)
    for (const field of fields) this.#byTag[field.tag] = field
  }

  encode(json: object): Buffer {
    const writer = new BinaryWriter()
    this.#writeFields(writer, json as Fields)
    return toBuffer(writer.finish())
  }

  decode(bytes: Uint8Array, levels: number): Fields {
    const reader = new BinaryReader(bytes, decodeUtf8)
    try {
      return this.#readFields(reader, reader.len, levels, {})
    } catch (err) {
      throw new BadProtoError(whyBad(err))
    }
  }

  isUnset(): boolean {
    return false
  }

  write(writer: BinaryWriter, value: unknown): void {
    writer.fork()
    this.#writeFields(writer, value as Fields)
    writer.join()
  }

  read(reader: BinaryReader, levels: number, known: unknown): unknown {
    // A message that is split over several occurrences of its field is merged.
    return this.#readFields(reader, endOf(reader), levels, (known as Fields | undefined) ?? {})
  }

  #writeFields(writer: BinaryWriter, json: Fields): void {
    for (const field of this.#fields) {
      const value = json[field.name]
      if (value === undefined || (value === null && field.type !== FIELD_TYPES['Value'])) continue
      if (field.kind === 'repeated') for (const item of value as unknown[]) writeOne(writer, field, item)
      else if (field.kind === 'map') writeMap(writer, field, value as Fields)
      else if (field.hasPresence || !field.type.isUnset(value)) writeOne(writer, field, value)
    }
  }

  #readFields(reader: BinaryReader, end: number, levels: number, into: Fields): Fields {
    requireLevel(levels)
    while (reader.pos < end) {
      const read = reader.uint32()
      const field = this.#byTag[read]
      if (field === undefined) skipField(reader, read)
      else this.#readField(reader, field, levels, into)
      requireWithin(reader, end)
    }
    return into
  }

  #readField(reader: BinaryReader, field: Field, levels: number, into: Fields): void {
    const { name, type, kind, isOneOf } = field
    if (kind === 'repeated') ((into[name] ??= []) as unknown[]).push(type.read(reader, levels - 2, undefined))
    else if (kind === 'map') readEntry(reader, type, levels - 2, (into[name] ??= {}) as Fields)
    else into[name] = type.read(reader, levels - 1, into[name])
    // The last member counts.
    if (isOneOf) for (const other of this.#oneOf) if (other !== name && other in into) delete into[other]
  }
}

function writeOne(writer: BinaryWriter, { tag: its, type }: Field, value: unknown): void {
  type.write(writer.uint32(its), value)
}

const KEY = tag(1, WireType.LengthDelimited)

// The protocol has maps with texts as keys, and texts or messages as values.
function writeMap(writer: BinaryWriter, { tag: its, type }: Field, entries: Fields): void {
  for (const [key, value] of Object.entries(entries)) {
    writer.uint32(its).fork().uint32(KEY).string(key)
    type.write(writer.uint32(tag(2, type.wire)), value)
    writer.join()
  }
}

function readEntry(reader: BinaryReader, type: FieldType, levels: number, into: Fields): void {
  const end = endOf(reader)
  let key = ''
  let value: unknown
  while (reader.pos < end) {
    const read = reader.uint32()
    if (read === KEY) key = reader.string()
    else if (read === tag(2, type.wire)) value = type.read(reader, levels, value)
    else skipField(reader, read)
    requireWithin(reader, end)
  }
  requireKey(key)
  into[key] = value ?? (type === FIELD_TYPES['string'] ? '' : {})
}
