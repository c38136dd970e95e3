import { A2AService as officialV10 } from '@a2a-js/sdk/server/grpc'
import { A2AService as officialV03 } from 'a2a-sdk-v0.3/server/grpc'
import * as fc from 'fast-check'
import t from 'tap'
import { methodsOf } from '../../src/grpc/grpc-methods.ts'
import { compileMessages } from '../../src/grpc/protobuf/compile-messages.ts'
import { isStreaming, OPERATION_NAMES, OPERATIONS } from '../../src/operations.ts'
import { protoFor } from '../../src/wire/proto-for.ts'
import { PROTOCOL_VERSIONS } from '../../src/wire/versions.ts'
import { officialCodec } from '../helpers/published/official-codec.ts'
import { ENUMS, MESSAGES } from '../helpers/published/proto-messages.ts'
import { jsonOf, withoutNulls } from '../helpers/published/proto-json.ts'

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
  '0.3' | '1.0',
  Record<string, OfficialMethod>
>
const RUNS = 150
const LEVELS = 200

t.setTimeout(120_000)

for (const version of PROTOCOL_VERSIONS) {
  const table = protoFor(version)
  const typeOf = compileMessages(table)
  const official = Object.values(OFFICIAL[version])

  t.test(`the methods of ${version} are those of the published service`, async (t) => {
    const methods = [...methodsOf(version).values()]
    t.same(methods.map(({ path }) => path).sort(), official.map(({ path }) => path).sort())
    for (const { path, isStreaming: streams } of methods) {
      const { requestStream, responseStream } = official.find((each) => each.path === path)!
      t.same([requestStream, responseStream], [false, streams], path)
    }
    t.same(Object.keys(table.methods).length, methods.length, 'and no other is in the table')
    for (const name of OPERATION_NAMES)
      if (OPERATIONS[name].grpc[version] !== undefined)
        t.equal(methodsOf(version).get(OPERATIONS[name].grpc[version])!.isStreaming, isStreaming(name))
  })

  t.test(`JSON → bytes → JSON of ${version} is the identity, also by way of the official code`, async (t) => {
    for (const each of official) {
      const [request, response] = table.methods[each.path.replace(/.*\//, '')]!
      const ways = [
        [request, each.requestDeserialize, each.requestSerialize],
        [response, each.responseDeserialize, each.responseSerialize]
      ] as const
      for (const [name, deserialize, serialize] of ways) {
        const type = typeOf(name)
        const isSame = (bytes: Buffer, json: object) =>
          JSON.stringify(sorted(type.decode(bytes, LEVELS))) === JSON.stringify(sorted(json))
        const check = fc.property(jsonOf(table, name), (json) => {
          const plain = withoutNulls(json)
          const theirs = serialize(deserialize(type.encode(plain)) as never)
          return isSame(type.encode(json), json) && isSame(theirs, plain)
        })
        t.doesNotThrow(() => fc.assert(check, { numRuns: RUNS }), `${each.path} ${name}`)
      }
    }
  })
}

t.test(
  'the messages of 1.0 have the fields that are published, and their JSON is that of the official code',
  async (t) => {
    const { messages, enums } = protoFor('1.0')
    t.same(
      Object.keys(messages)
        .filter((name) => name !== 'Empty')
        .sort(),
      Object.keys(MESSAGES).sort()
    )
    for (const [name, fields] of Object.entries(MESSAGES)) {
      const ours = Object.entries(messages[name]!).map(([field, [, type]]) => [field, type.replace('?', '')])
      const theirs = Object.entries(fields).map(([field, type]) => [
        field,
        (type as string).replace(/[!+]/g, '')
      ])
      t.same(Object.fromEntries(ours), Object.fromEntries(theirs), name)
    }
    for (const [name, values] of Object.entries(ENUMS)) t.same(enums[name]!.slice(1), values, name)

    const typeOf = compileMessages(protoFor('1.0'))
    for (const { path, requestDeserialize, responseDeserialize } of Object.values(OFFICIAL['1.0'])) {
      const [request, response] = protoFor('1.0').methods[path.replace(/.*\//, '')]!
      for (const [name, deserialize] of [
        [request, requestDeserialize],
        [response, responseDeserialize]
      ] as const) {
        const codec = officialCodec(name)
        if (codec === undefined) continue
        const check = fc.property(jsonOf(protoFor('1.0'), name).map(withoutNulls), (json) => {
          const read = deserialize(typeOf(name).encode(json))
          if (
            JSON.stringify(codec.toJSON(read as never)) !==
            JSON.stringify(codec.toJSON(codec.fromJSON(json) as never))
          )
            throw new Error('another message')
        })
        t.doesNotThrow(() => fc.assert(check, { numRuns: RUNS }), name)
      }
    }
  }
)

t.test('the texts of 0.3 are in the fields of their names', async (t) => {
  // Fields whose name in JSON is not that in the proto.
  const renamed: Record<string, string> = { request: 'message', msg: 'message', update: 'message' }
  const table = protoFor('0.3')
  const typeOf = compileMessages(table)
  const filled = (name: string, depth = 0): Record<string, unknown> => {
    const all = Object.entries(table.messages[name]!).flatMap(([field, [, marked]]) => {
      const type = marked.replace(/\W+$/, '')
      if (marked.endsWith('{}') || depth > 5) return []
      const one = type === 'string' ? field : type in table.messages ? filled(type, depth + 1) : undefined
      return one === undefined
        ? []
        : [[field, marked.endsWith('[]') ? [one] : one, marked.endsWith('|')] as const]
    })
    const [first] = all.filter(([, , isOneOf]) => isOneOf)
    return Object.fromEntries(
      all.filter((each) => !each[2] || each === first).map(([field, one]) => [field, one])
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
  for (const { path, requestDeserialize, responseDeserialize } of Object.values(OFFICIAL['0.3'])) {
    const [request, response] = table.methods[path.replace(/.*\//, '')]!
    check(requestDeserialize(typeOf(request).encode(filled(request))), '')
    check(responseDeserialize(typeOf(response).encode(filled(response))), '')
  }
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
