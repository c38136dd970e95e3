import { status, type ServiceError } from '@grpc/grpc-js'
import { grpcBinding } from '@svc/a2a/grpc'
import { cases } from '@tools/wires/volume'
import * as fc from 'fast-check'
import t from 'tap'
import { methodsOf } from '../../src/grpc/server/add-service.ts'
import { encodeMessage } from '../../src/grpc/messages.ts'
import { PROTOCOL_VERSIONS } from '../../src/wire/versions.ts'
import { buildApp, echo, sayV1 } from '../helpers/build-app.ts'
import { connectGrpc, failureOf, grpcUrlOf } from '../helpers/grpc-client.ts'
import { jsonOf } from '../helpers/published/proto-json.ts'

const CASES = cases(200)
const ALLOWED = new Set([
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.FAILED_PRECONDITION,
  status.UNIMPLEMENTED,
  status.RESOURCE_EXHAUSTED
])
// No internals of the service, of gRPC or Node.js.
const INTERNAL =
  /TypeError|RangeError|undefined|node:|\.ts\b|at \w+ \(|Cannot read|is not a function|varint|premature/

t.setTimeout(120_000)

t.test('any bytes get an answer, or the right error', async (t) => {
  const { origin } = await buildApp(t, {
    runnables: [echo],
    options: {
      grpc: grpcBinding({ port: 0 }),
      limits: { bodyLimit: 200_000 },
      pushNotifications: { lookup: async () => [{ address: '127.0.0.1', family: 4 }] }
    }
  })
  const url = await grpcUrlOf(origin)
  const seen = new Map<number, number>()
  for (const version of PROTOCOL_VERSIONS) {
    const client = connectGrpc(t, url, version)
    const send = async (method: string, bytes: Buffer) => {
      try {
        await client.send(method, bytes)
        seen.set(0, (seen.get(0) ?? 0) + 1)
      } catch (err) {
        const { code, details } = err as ServiceError
        seen.set(code, (seen.get(code) ?? 0) + 1)
        if (!ALLOWED.has(code)) throw new Error(`code ${code}: ${details}`, { cause: err })
        if (INTERNAL.test(details)) throw new Error(`internal text: ${details}`, { cause: err })
      }
    }
    for (const [name, { request }] of methodsOf(version)) {
      const valid = jsonOf(request).map((json) => encodeMessage(request, json))
      const bytes = fc.oneof(
        { weight: 2, arbitrary: fc.uint8Array({ maxLength: 60 }).map((each) => Buffer.from(each)) },
        { weight: 2, arbitrary: valid },
        {
          weight: 4,
          arbitrary: fc
            .tuple(valid, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }))
            .map(([whole, changes]) => {
              const changed = Buffer.from(whole)
              for (const [at, byte] of changes) if (changed.length > 0) changed[at % changed.length] = byte
              return changed
            })
        },
        {
          weight: 1,
          arbitrary: fc
            .tuple(valid, fc.nat())
            .map(([whole, at]) => whole.subarray(0, at % (whole.length + 1)))
        },
        { weight: 1, arbitrary: fc.tuple(valid, valid).map((both) => Buffer.concat(both)) }
      )
      await fc.assert(
        fc.asyncProperty(bytes, (each) => send(name, each)),
        { numRuns: CASES }
      )
    }
  }
  // In a few cases, not every outcome occurs.
  const expected = CASES < 200 ? [] : [0, status.NOT_FOUND]
  for (const code of [status.INVALID_ARGUMENT, ...expected])
    t.ok(seen.get(code), `${code}: ${seen.get(code)}`)

  const client = connectGrpc(t, url)
  const large = await failureOf(client.send('SendMessage', Buffer.alloc(5_000_000, 0x0a)))
  t.equal(large.code, status.RESOURCE_EXHAUSTED)
  const deep = await failureOf(client.send('SendMessage', nested(20_000)))
  t.equal(deep.code, status.INVALID_ARGUMENT)
  t.match(await client.call('SendMessage', sayV1('x')), { task: {} }, 'it serves on')
})

/** Metadata of lists in lists. */
function nested(levels: number): Buffer {
  let bytes: number[] = []
  const pieces: number[][] = []
  let length = 0
  const wrap = (tag: number) => {
    const head = [tag]
    let left = length
    for (; left > 127; left >>>= 7) head.push((left & 127) | 128)
    head.push(left)
    pieces.push(head)
    length += head.length
  }
  for (let level = 0; level < levels; level++) for (const tag of [0x0a, 0x32]) wrap(tag)
  for (const tag of [0x12, 0x0a, 0x22]) wrap(tag)
  bytes = pieces.toReversed().flat()
  return Buffer.from(bytes)
}
