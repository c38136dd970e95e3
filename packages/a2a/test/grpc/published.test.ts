import type { DescField, DescMessage } from '@bufbuild/protobuf'
import { A2AService as officialV10 } from '@a2a-js/sdk/server/grpc'
import { cases } from '@tools/wires/volume'
import { A2AService as officialV03 } from 'a2a-sdk-v0.3/server/grpc'
import * as fc from 'fast-check'
import t from 'tap'
import { methodsOf } from '../../src/grpc/server/add-service.ts'
import { decodeMessage, encodeMessage, serviceOf } from '../../src/grpc/messages.ts'
import { isStreaming, OPERATION_NAMES, OPERATIONS } from '../../src/operations.ts'
import { codecFor } from '../../src/wire/codec-for.ts'
import { PROTOCOL_VERSIONS, type ProtocolVersion } from '../../src/wire/versions.ts'
import { officialCodec } from '../helpers/published/official-codec.ts'
import { ENUMS, MESSAGES } from '../helpers/published/proto-messages.ts'
import { isMember, jsonOf, namesOf, typeOf, withoutNulls } from '../helpers/published/proto-json.ts'

/** A method in the code that the official SDK has generated from the proto. */
interface OfficialMethod {
  path: string
  requestStream: boolean
  responseStream: boolean
  requestSerialize(message: never): Buffer
  requestDeserialize(bytes: Buffer): unknown
  responseSerialize(message: never): Buffer
  responseDeserialize(bytes: Buffer): unknown
}

const OFFICIAL = { '0.3': officialV03, '1.0': officialV10 } as unknown as Record<
  ProtocolVersion,
  Record<string, OfficialMethod>
>
const RUNS = cases(150)
const LEVELS = 200

t.setTimeout(120_000)

/** The messages of a version's methods, each with the official code for it. */
function* messagesOf(version: ProtocolVersion) {
  for (const each of Object.values(OFFICIAL[version])) {
    const { request, response } = methodsOf(version).get(each.path.replace(/.*\//, ''))!
    yield { type: request, deserialize: each.requestDeserialize, serialize: each.requestSerialize }
    yield { type: response, deserialize: each.responseDeserialize, serialize: each.responseSerialize }
  }
}

for (const version of PROTOCOL_VERSIONS) {
  const official = Object.values(OFFICIAL[version])

  t.test(`the methods of ${version} are those of the published service`, async (t) => {
    const methods = [...methodsOf(version).values()]
    t.same(methods.map(({ path }) => path).sort(), official.map(({ path }) => path).sort())
    for (const { path, isStreaming: streams } of methods) {
      const { requestStream, responseStream } = official.find((each) => each.path === path)!
      t.same([requestStream, responseStream], [false, streams], path)
    }
    const { grpcService } = codecFor(version, 'grpc')
    t.same(serviceOf(grpcService).methods.length, methods.length, 'and the proto has no other')
    for (const name of OPERATION_NAMES)
      if (OPERATIONS[name].grpc[version] !== undefined)
        t.equal(methodsOf(version).get(OPERATIONS[name].grpc[version])!.isStreaming, isStreaming(name))
  })

  t.test(`JSON → bytes → JSON of ${version} is the identity, also by way of the official code`, async (t) => {
    for (const { type, deserialize, serialize } of messagesOf(version)) {
      const isSame = (bytes: Buffer, json: object) =>
        JSON.stringify(sorted(decodeMessage(type, bytes, LEVELS))) === JSON.stringify(sorted(json))
      const check = fc.property(jsonOf(type), (json) => {
        const plain = withoutNulls(json)
        const theirs = serialize(deserialize(encodeMessage(type, plain)) as never)
        return isSame(encodeMessage(type, json), json) && isSame(theirs, plain)
      })
      t.doesNotThrow(() => fc.assert(check, { numRuns: RUNS }), type.typeName)
    }
  })
}

t.test(
  'the messages of 1.0 have the fields that are published, and their JSON is that of the official code',
  async (t) => {
    const { messages, enums } = serviceOf(codecFor('1.0', 'grpc').grpcService).file
    t.same(messages.map(({ name }) => name).sort(), Object.keys(MESSAGES).sort())
    for (const [name, fields] of Object.entries(MESSAGES)) {
      const ours = messages
        .find((each) => each.name === name)!
        .fields.map((field) => [field.jsonName, typeOf(field) + markOf(field)])
      const theirs = Object.entries(fields).map(([field, type]) => [
        field,
        (type as string).replace(/[!+]/g, '')
      ])
      t.same(Object.fromEntries(ours), Object.fromEntries(theirs), name)
    }
    for (const [name, values] of Object.entries(ENUMS))
      t.same(namesOf(enums.find((each) => each.name === name)!), values, name)

    for (const { type, deserialize } of messagesOf('1.0')) {
      const codec = officialCodec(type.name)
      if (codec === undefined) continue
      const check = fc.property(jsonOf(type).map(withoutNulls), (json) => {
        const read = deserialize(encodeMessage(type, json))
        if (
          JSON.stringify(codec.toJSON(read as never)) !==
          JSON.stringify(codec.toJSON(codec.fromJSON(json) as never))
        )
          throw new Error('another message')
      })
      t.doesNotThrow(() => fc.assert(check, { numRuns: RUNS }), type.typeName)
    }
  }
)

function markOf(field: DescField): string {
  if (field.fieldKind === 'list') return '[]'
  if (field.fieldKind === 'map') return '{}'
  return isMember(field) ? '|' : ''
}

t.test('the texts of 0.3 are in the fields of their names', async (t) => {
  // Fields whose name in JSON is not that in the proto.
  const renamed: Record<string, string> = { request: 'message', msg: 'message', update: 'message' }
  const filled = (message: DescMessage, depth = 0): Record<string, unknown> => {
    const all = message.fields.flatMap((field) => {
      if (field.fieldKind === 'map' || depth > 5) return []
      const isText = typeOf(field) === 'string'
      const isOpen = field.message === undefined || /^(Struct|Timestamp)$/.test(field.message.name)
      if (isOpen && !isText) return []
      const one = isText ? field.jsonName : filled(field.message!, depth + 1)
      return [{ field, one: field.fieldKind === 'list' ? [one] : one }]
    })
    const first = all.find(({ field }) => isMember(field))
    return Object.fromEntries(
      all
        .filter((each) => !isMember(each.field) || each === first)
        .map(({ field, one }) => [field.jsonName, one])
    )
  }
  let count = 0
  const check = (value: unknown, name: string) => {
    if (typeof value === 'string' && /^[a-z]+[A-Za-z]*$/.test(value)) {
      count++
      t.equal(value, renamed[name] ?? name)
    } else if (Array.isArray(value)) for (const each of value) check(each, name)
    else if (typeof value === 'object' && value !== null) {
      const { $case, value: member } = value as { $case?: string; value?: unknown }
      if ($case !== undefined) check(member, $case)
      else for (const [field, each] of Object.entries(value)) check(each, field)
    }
  }
  for (const { type, deserialize } of messagesOf('0.3'))
    check(deserialize(encodeMessage(type, filled(type))), '')
  t.ok(count > 50, `${count} texts`)
})

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, each]) => [key, sorted(each)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1))
  )
}
