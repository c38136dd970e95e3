import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import {
  Server,
  ServerCredentials,
  status,
  type Metadata,
  type ServerUnaryCall,
  type ServerWritableStream
} from '@grpc/grpc-js'
import { remoteAgent, type RemoteAgentOptions } from '@svc/a2a'
import { grpcTransport } from '@svc/a2a/grpc'
import { createContext } from '@svc/registry'
import t, { type Test } from 'tap'
import { methodsOf } from '../../src/grpc/server/add-service.ts'
import { encodeMessage } from '../../src/grpc/messages.ts'

type Call = ServerWritableStream<Buffer, Buffer>

/** What a service answers to each method, with JSON; `raw` are bytes in its place. */
interface Script {
  stream?(call: Call, say: (event: object) => void): void
  subscribe?(call: Call, say: (event: object) => void): void
  get?(): object
}

/** A service over gRPC that does what a script says; returns a remote agent of it. */
async function serve(t: Test, script: Script, options: Partial<RemoteAgentOptions> = {}) {
  const methods = methodsOf('1.0')
  const server = new Server()
  const asIs = (bytes: Buffer) => bytes
  const called: string[] = []
  const seen: Metadata[] = []
  for (const [name, { path, response, isStreaming }] of methods) {
    const handler = isStreaming
      ? (call: Call) => {
          called.push(name)
          seen.push(call.metadata)
          const act = name === 'SendStreamingMessage' ? script.stream : script.subscribe
          act!(call, (event) => call.write(encodeMessage(response, event)))
        }
      : (_call: ServerUnaryCall<Buffer, Buffer>, reply: (err: object | null, bytes?: Buffer) => void) => {
          called.push(name)
          reply(null, encodeMessage(response, script.get?.() ?? {}))
        }
    server.register(path, handler as never, asIs, asIs, isStreaming ? 'serverStream' : 'unary')
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (err, bound) =>
      err === null ? resolve(bound) : reject(err)
    )
  })
  t.teardown(() => server.forceShutdown())
  const agent = remoteAgent({
    url: `http://127.0.0.1:${port}`,
    version: '1.0',
    binding: 'GRPC',
    transports: [grpcTransport()],
    name: 'far',
    ...options
  })
  return { run: () => agent.run('x', createContext()), called, seen }
}

const task = (state: string) => ({
  task: { id: 't', contextId: 'c', status: { state: `TASK_STATE_${state}` } }
})
const text = (value: string) => ({
  artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts: [{ text: value }] } }
})
const ended = { statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } } }
const fail = (call: Call, code: status, details: string) => void call.emit('error', { code, details })

t.test('a stream that breaks off is resumed, however it breaks', async (t) => {
  const breaks: ((call: Call) => void)[] = [
    (call) => fail(call, status.UNAVAILABLE, 'shutting down'),
    (call) => void call.end()
  ]
  for (const broken of breaks) {
    const { run, called } = await serve(t, {
      stream(call, say) {
        say(task('WORKING'))
        broken(call)
      },
      subscribe(call, say) {
        say(task('WORKING'))
        say(text('whole'))
        say(ended)
        call.end()
      }
    })
    t.match(await run(), { text: 'whole' })
    t.same(called, ['SendStreamingMessage', 'SubscribeToTask'])
  }
})

t.test('a stream that stalls is resumed, then the task is polled', async (t) => {
  const { run, called } = await serve(
    t,
    {
      stream: (_call, say) => say(task('WORKING')),
      subscribe: (_call, say) => say(task('WORKING')),
      get: () => ({
        ...task('COMPLETED').task,
        artifacts: [{ artifactId: 'a', parts: [{ text: 'polled' }] }]
      })
    },
    { idleTimeout: 50 }
  )
  t.match(await run(), { text: 'polled' })
  t.equal(called.at(-1), 'GetTask')
})

t.test('refusals and bad answers: the code, whether to try again, and no credentials', async (t) => {
  const token = 'the-secret-token'
  type Case = [act: (call: Call, say: (event: object) => void) => void, expected: object, options?: object]
  const refuse = (code: status, details: string) => (call: Call) => fail(call, code, details)
  const cases: Case[] = [
    [
      refuse(status.UNAUTHENTICATED, `no ${token}`),
      { message: /UNAUTHENTICATED: no [^t]/, retryable: false }
    ],
    [refuse(status.PERMISSION_DENIED, ''), { message: /PERMISSION_DENIED/, retryable: false }],
    [refuse(status.NOT_FOUND, 'no task'), { message: /-32001 no task/, retryable: false }],
    [refuse(status.INVALID_ARGUMENT, 'bad'), { message: /-32602 bad/, retryable: false }],
    [refuse(status.UNIMPLEMENTED, ''), { message: /UNIMPLEMENTED/, retryable: false }],
    [refuse(status.RESOURCE_EXHAUSTED, 'later'), { message: /RESOURCE_EXHAUSTED: later/, retryable: true }],
    [refuse(status.UNAVAILABLE, 'gone'), { message: /cannot be reached/ }],
    [() => {}, { message: /does not answer in time/ }, { timeout: 50 }],
    [(call) => void call.write(Buffer.from('ffff', 'hex')), { code: 'A2A_ERR_BAD_ANSWER' }],
    [
      (_call, say) => say(text('x'.repeat(5_000))),
      { code: 'A2A_ERR_BAD_ANSWER', message: /too large/ },
      { maxBytes: 1_000 }
    ],
    [
      (_call, say) => {
        for (let count = 0; count < 40; count++) say(text('x'.repeat(900)))
      },
      { code: 'A2A_ERR_BAD_ANSWER', message: /more than 16000 bytes/ },
      { maxBytes: 1_000 }
    ],
    [(_call, say) => say(task('WORKING')), { message: /takes longer than 100 ms/ }, { taskTimeout: 100 }]
  ]
  for (const [stream, expected, options] of cases) {
    const { run, seen } = await serve(t, { stream }, { token, ...options })
    const err = await run().then(
      () => undefined,
      (reason: Error) => reason
    )
    t.match(err, { code: 'A2A_ERR_REMOTE', ...expected })
    t.notMatch(err!.message, token)
    t.same(seen[0]?.get('authorization'), [`Bearer ${token}`])
    t.same(seen[0]?.get('a2a-version'), ['1.0'])
  }
})

t.test('a service that is not there, one that is none, and a header that cannot be sent', async (t) => {
  const plain = createServer((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(
    0,
    '127.0.0.1'
  )
  await once(plain, 'listening')
  t.teardown(() => plain.close())
  const { port } = plain.address() as AddressInfo
  const base = { version: '1.0', binding: 'GRPC', transports: [grpcTransport()], timeout: 5_000 } as const
  for (const url of ['http://127.0.0.1:1', `http://127.0.0.1:${port}`])
    await t.rejects(remoteAgent({ ...base, url }).run('x', createContext()), {
      code: 'A2A_ERR_REMOTE',
      message: /cannot be reached/
    })
  const err = await remoteAgent({ ...base, url: 'http://127.0.0.1:1', token: 'sécret' })
    .run('x', createContext())
    .catch((reason: Error) => reason)
  t.match(err, { message: /authorization.*cannot be sent/ })
  t.notMatch((err as Error).message, 'cret')
})

t.test('endpoints on cards', async (t) => {
  const { locate } = grpcTransport()
  const base = new URL('https://agents.example.org/card')
  const cases: [given: string, located: string | undefined][] = [
    ['agents.example.org:50051', 'grpc://agents.example.org:50051'],
    ['Agents.example.org:1/', 'grpc://agents.example.org:1'],
    ['grpc://agents.example.org:1', 'grpc://agents.example.org:1'],
    ['dns:///agents.example.org:1', 'grpc://agents.example.org:1'],
    ['https://agents.example.org:1', 'grpc://agents.example.org:1'],
    ['[::1]:50051', 'grpc://[::1]:50051'],
    ['agents.example.org', undefined],
    ['unix:/run/agent.sock', undefined],
    ['user:pass@agents.example.org:1', undefined],
    ['agents.example.org:1/path', undefined]
  ]
  for (const [given, located] of cases) t.equal(locate!(given, base)?.href, located, given)
  for (const options of [{ credentials: { caa: 'x' } }, { more: 1 }])
    t.throws(() => grpcTransport(options as never), { code: 'A2A_ERR_BAD_OPTION' })
})
