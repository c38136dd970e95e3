import { cases } from '@tools/wires/volume'
import * as fc from 'fast-check'
import t from 'tap'
import { OPERATION_NAMES, OPERATIONS } from '../../src/operations.ts'
import { buildApp, echo } from '../helpers/build-app.ts'

const CASES = cases(10_000)
const CODES = new Set([
  -32700, -32600, -32601, -32602, -32001, -32002, -32003, -32004, -32005, -32007, -32009
])
// No internals of the service, Fastify or Node.js.
const INTERNAL = /FST_|TypeError|undefined|node:|\.ts\b|at \w+ \(|Cannot read|is not a function/

const methods = OPERATION_NAMES.flatMap((name) => Object.values(OPERATIONS[name].rpc))
const mediaType = fc.oneof(
  fc.constantFrom(
    'text/plain',
    'image/png',
    'text/plain; charset=utf-8',
    '*/*',
    'image',
    '/',
    'a/b\r\nx: y',
    'constructor'
  ),
  fc.string(),
  fc.jsonValue()
)
const url = fc.oneof(
  fc.constantFrom(
    'https://a.example/b',
    'data:text/plain,x',
    'javascript:alert(1)',
    'file:///etc/passwd',
    '//x',
    ''
  ),
  fc.webUrl(),
  fc.jsonValue()
)
const filename = fc.oneof(
  fc.constantFrom('../../etc/passwd', 'a\r\nset-cookie: x', 'a\u0000b', '\u202Egnp.exe', ''),
  fc.string(),
  fc.jsonValue()
)
const raw = fc.oneof(
  fc.constantFrom('aGk=', 'aGk', '-_8', '====', 'a', ''),
  fc.base64String(),
  fc.jsonValue()
)
const file = fc.oneof(
  fc.record({ raw, filename, mediaType }, { requiredKeys: ['raw'] }),
  fc.record({ url, filename, mediaType }, { requiredKeys: ['url'] }),
  fc.record({ raw, url, text: fc.string(), filename, mediaType }, { requiredKeys: [] }),
  fc.record({
    kind: fc.constant('file'),
    file: fc.record({ bytes: raw, uri: url, name: filename, mimeType: mediaType }, { requiredKeys: [] })
  })
)
const part = fc.oneof(
  file,
  fc.record({ kind: fc.constant('text'), text: fc.string() }),
  fc.record({ text: fc.string() }),
  fc.record({ kind: fc.constantFrom('file', 'data', 'x'), file: fc.jsonValue(), data: fc.jsonValue() }),
  fc.record({ raw: fc.string(), url: fc.string() }, { requiredKeys: [] }),
  fc.jsonValue()
)
const message = fc.record(
  {
    role: fc.constantFrom('user', 'agent', 'ROLE_USER', 'ROLE_AGENT', 'banana'),
    parts: fc.oneof(fc.array(part, { maxLength: 3 }), fc.jsonValue()),
    messageId: fc.oneof(fc.string(), fc.jsonValue()),
    contextId: fc.oneof(fc.string(), fc.jsonValue()),
    taskId: fc.oneof(fc.string(), fc.jsonValue()),
    referenceTaskIds: fc.oneof(fc.array(fc.string()), fc.jsonValue()),
    metadata: fc.oneof(fc.jsonValue(), fc.record({ agentName: fc.jsonValue() }))
  },
  { requiredKeys: [] }
)
const params = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      id: fc.oneof(fc.string(), fc.jsonValue()),
      taskId: fc.oneof(fc.string(), fc.jsonValue()),
      message: fc.oneof(message, fc.jsonValue()),
      configuration: fc.oneof(
        fc.record(
          {
            historyLength: fc.jsonValue(),
            blocking: fc.jsonValue(),
            acceptedOutputModes: fc.oneof(fc.array(mediaType), fc.jsonValue())
          },
          { requiredKeys: [] }
        ),
        fc.jsonValue()
      ),
      url: fc.oneof(fc.webUrl(), fc.jsonValue()),
      pageSize: fc.jsonValue(),
      status: fc.jsonValue(),
      pushNotificationConfig: fc.jsonValue(),
      metadata: fc.jsonValue()
    },
    { requiredKeys: [] }
  )
)
const call = fc.record(
  {
    jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant('2.0') }, fc.jsonValue()),
    id: fc.oneof({ weight: 9, arbitrary: fc.oneof(fc.integer(), fc.string()) }, fc.jsonValue()),
    method: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...methods) },
      fc.constantFrom('toString', '__proto__', ''),
      fc.string(),
      fc.jsonValue()
    ),
    params
  },
  { requiredKeys: ['jsonrpc', 'id', 'method'] }
)
const body = fc.oneof(
  { weight: 8, arbitrary: call.map((each) => JSON.stringify(each)) },
  fc.jsonValue().map((each) => JSON.stringify(each)),
  fc.array(call, { maxLength: 2 }).map((each) => JSON.stringify(each)),
  fc.string(),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes))
)

t.setTimeout(120_000)

t.test(`${CASES} requests get an answer, or the right error`, async (t) => {
  const { app } = await buildApp(t, {
    runnables: [echo],
    options: { pushNotifications: { lookup: async () => [{ address: '127.0.0.1', family: 4 }] } }
  })
  const seen = new Map<number, number>()
  const check = async (payload: string | Buffer) => {
    const response = await app.inject({
      method: 'POST',
      url: '/a2a',
      headers: { 'content-type': 'application/json' },
      payload
    })
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`)
    if (response.headers['content-type']?.startsWith('text/event-stream')) return
    const { error, id } = response.json<{ error?: { code: number; message: string }; id: unknown }>()
    if (error === undefined) return
    seen.set(error.code, (seen.get(error.code) ?? 0) + 1)
    if (!CODES.has(error.code)) throw new Error(`code ${error.code}: ${error.message}`)
    requireRightCode(payload, error.code, id)
    // A message may repeat the client's own text.
    if (INTERNAL.test(error.message) && !INTERNAL.test(payload.toString()))
      throw new Error(`internal text: ${error.message}`)
  }
  await fc.assert(fc.asyncProperty(body, check), { numRuns: CASES })
  for (const code of [-32700, -32600, -32601, -32602]) t.ok(seen.get(code), `${code}: ${seen.get(code)}`)
})

t.test('files of a message are answered, or the right error, whatever is in them', async (t) => {
  const { app } = await buildApp(t, {
    runnables: [echo],
    options: { defaultInputModes: ['*/*'], limits: { bodyLimit: 8_388_608 } }
  })
  const send = async (method: string, parts: unknown[]) => {
    const role = method === 'SendMessage' ? 'ROLE_USER' : 'user'
    const payload = { jsonrpc: '2.0', id: 1, method, params: { message: { messageId: 'm', role, parts } } }
    const response = await app.inject({ method: 'POST', url: '/a2a', payload })
    t.ok(response.statusCode === 200)
    return response.json<{ error?: { code: number; message: string } }>().error
  }
  const check = async (given: unknown, method: string) => {
    const error = await send(method, [given])
    if (error === undefined) return
    // Keys that reach a prototype are refused with the whole body.
    const isBadJson = error.code === -32700 && /"__proto__"|"prototype"/.test(JSON.stringify(given))
    if (error.code !== -32602 && error.code !== -32005 && !isBadJson)
      throw new Error(`code ${error.code}: ${error.message}`)
    if (INTERNAL.test(error.message) && !INTERNAL.test(JSON.stringify(given)))
      throw new Error(`internal text: ${error.message}`)
  }
  await fc.assert(fc.asyncProperty(file, fc.constantFrom('SendMessage', 'message/send'), check), {
    numRuns: cases(2_000)
  })

  const refused: object[] = [
    { raw: '=a=' },
    { raw: 'aGk=', url: 'https://a.example' },
    { raw: 'aGk=', mediaType: 'nonsense' },
    { raw: 'aGk=', mediaType: 'a/b\r\nx: y' },
    { url: '' },
    { raw: 5 },
    { filename: 'a' }
  ]
  for (const each of refused)
    t.match(await send('SendMessage', [each]), { code: -32602 }, JSON.stringify(each))
  const large = Buffer.alloc(5_242_880).toString('base64')
  t.equal(
    await send('SendMessage', [{ raw: large, mediaType: 'image/png', filename: '../../x\r\ny' }]),
    undefined
  )
})

function requireRightCode(payload: string | Buffer, code: number, id: unknown): void {
  let value: unknown
  try {
    value = JSON.parse(payload.toString())
  } catch {
    if (code !== -32700) throw new Error(`no JSON, and code ${code}`)
    return
  }
  if (code === -32700) return
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    if (code !== -32600) throw new Error(`no object, and code ${code}`)
    return
  }
  const given = value as Record<string, unknown>
  const wellFormed =
    given['jsonrpc'] === '2.0' &&
    typeof given['method'] === 'string' &&
    (given['id'] === null || ['string', 'number'].includes(typeof given['id']))
  if (wellFormed !== (code !== -32600)) throw new Error(`well-formed: ${wellFormed}, and code ${code}`)
  if (!wellFormed) return
  if (methods.includes(given['method'] as string) === (code === -32601))
    throw new Error(`method ${given['method'] as string}, and code ${code}`)
  if (id !== given['id'] && !Object.is(id, 0)) throw new Error(`another id: ${String(id)}`)
}
