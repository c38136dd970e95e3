import { remoteAgent } from '@svc/a2a'
import { createContext, createRunEngine } from '@svc/registry'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'

t.setTimeout(180_000)

type Answer = (response: ServerResponse, request: IncomingMessage) => void

const token = 'a-token-that-nobody-sees'

/** A service that answers every request alike, and its agent. */
async function serve(t: Test, answer: Answer, more = {}) {
  return remoteAgent({ url: await listen(t, answer), token, ...more })
}

async function listen(t: Test, answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(response, request))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Writes until the client stops, or has read far more than it should. */
function pour(response: ServerResponse, type: string, text: string): void {
  response.writeHead(200, { 'content-type': type })
  let left = 256_000_000
  const write = () => {
    for (; left > 0; left -= text.length) if (!response.write(text)) return response.once('drain', write)
    return response.end()
  }
  write()
}

/** How the JSON of an answer travels over a binding. */
const BINDINGS = {
  JSONRPC: (answer: object) => ({ jsonrpc: '2.0', id: 1, ...answer }),
  'HTTP+JSON': ({ result, error }: { result?: object; error?: object }) => (error ? { error } : result)
}

for (const [binding, wrap] of Object.entries(BINDINGS))
  t.test(binding, { timeout: 90_000 }, async (t) => {
    const direct = { version: '1.0', binding } as const
    const json = (answer: object) => JSON.stringify(wrap(answer))

    t.test('an answer that never ends', async (t) => {
      const drip: Answer = (response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).write('{')
      const agent = await serve(t, drip, { timeout: 200 })
      for (const _ of ['the first run', 'and the next'])
        await t.rejects(agent.run('x', createContext()), { code: 'A2A_ERR_REMOTE', message: /in time/ })
    })

    t.test('an answer without a limit', async (t) => {
      const line = 'a'.repeat(100_000)
      const all: Record<string, [Answer, object?]> = {
        card: [(response) => pour(response, 'application/json', line)],
        object: [(response) => pour(response, 'application/json', line), direct],
        line: [(response) => pour(response, 'text/event-stream', line), direct],
        'event of many lines': [(response) => pour(response, 'text/event-stream', `data: ${line}\n`), direct]
      }
      for (const [what, [answer, more]] of Object.entries(all)) {
        const agent = await serve(t, answer, more)
        const before = process.memoryUsage().rss
        await t.rejects(
          agent.run('x', createContext()),
          { code: 'A2A_ERR_BAD_ANSWER', message: /too large/ },
          what
        )
        const taken = process.memoryUsage().rss - before
        t.ok(taken < 200_000_000, `${what}: ${taken} bytes more`)
      }
    })

    t.test('an answer that breaks off, and an empty one', async (t) => {
      const broken = await serve(
        t,
        (response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"js')
          setTimeout(() => response.destroy(), 20)
        },
        direct
      )
      await t.rejects(broken.run('x', createContext()), { code: 'A2A_ERR_REMOTE', message: /breaks off/ })
      const headers = { 'content-type': 'text/event-stream' }
      const empty = await serve(t, (response) => response.writeHead(204, headers).end(), direct)
      await t.rejects(empty.run('x', createContext()), { code: 'A2A_ERR_BAD_ANSWER' })
    })

    t.test('the cost of an answer is linear in its pieces', async (t) => {
      const event = (result: object) => `data: ${json({ result })}\n\n`
      const task = { taskId: 't', contextId: 'c' }
      const artifact = { artifactId: 'a', parts: [{ text: 'ten chars '.repeat(100) }] }
      const pieces = 10_000
      const agent = await serve(
        t,
        (response) =>
          response
            .writeHead(200, { 'content-type': 'text/event-stream' })
            .end(
              event({ artifactUpdate: { ...task, artifact, append: true } }).repeat(pieces) +
                event({ statusUpdate: { ...task, status: { state: 'TASK_STATE_COMPLETED' } } })
            ),
        direct
      )
      const begun = performance.now()
      t.equal((await agent.run('x', createContext())).text.length, pieces * 1_000)
      const took = performance.now() - begun
      t.ok(took < 10_000, `${took} ms`)
    })

    t.test('URLs of files are of HTTP, and what is said of them fits', async (t) => {
      const refused = [
        'javascript:alert(1)',
        'data:text/html,x',
        'file:///etc/passwd',
        '/relative',
        '',
        'http://'
      ]
      const parts = [
        ...[...refused, `https://files.example/${'a'.repeat(10_000)}`].map((url) => ({ url })),
        { url: 'https://files.example/a', mediaType: 'a'.repeat(300), filename: 'b'.repeat(2_000) },
        {
          url: 'https://files.example/b',
          metadata: { size: -1, sha256: 'x', purpose: { a: 1 }, fileId: 'f' }
        },
        { url: 'https://files.example/b', mediaType: 'image/png' }
      ]
      const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'Here.' }, ...parts] }
      const agent = await serve(
        t,
        (response) =>
          response.writeHead(200, { 'content-type': 'application/json' }).end(json({ result: { message } })),
        direct
      )
      const { text, files } = await agent.run('x', createContext())
      t.equal(text, 'Here.')
      t.strictSame(files, [
        { url: 'https://files.example/a', mimeType: 'application/octet-stream' },
        { url: 'https://files.example/b', mimeType: 'application/octet-stream' }
      ])
    })

    t.test('credentials that an error repeats are redacted', async (t) => {
      const message = (said: string) => ({ messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: said }] })
      const answers: Record<string, (said: string) => object> = {
        refusal: (said) => ({
          error: { code: -32_602, status: 'INVALID_ARGUMENT', message: `bad token ${said}` }
        }),
        'failed task': (said) => ({
          result: {
            task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_FAILED', message: message(said) } }
          }
        })
      }
      for (const [what, answer] of Object.entries(answers))
        for (const given of [{ token }, { token: undefined, headers: { authorization: `Basic ${token}` } }]) {
          const agent = await serve(
            t,
            (response, { headers }) => {
              const said = String(headers.authorization).split(' ')[1]!
              response.writeHead(200, { 'content-type': 'application/json' }).end(json(answer(said)))
            },
            { ...direct, ...given }
          )
          const err = (await agent.run('x', createContext()).catch((err: unknown) => err)) as Error
          t.match(err, { code: 'A2A_ERR_REMOTE', message: /\[redacted\]/ }, what)
          t.notMatch(`${err.message} ${err.stack}`, token, what)
        }
    })

    t.test('an answer with values of wrong types is invalid, not interrupted', async (t) => {
      const odd = { toString: 1, valueOf: 1 }
      const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
      const respond =
        (text: string): Answer =>
        (response) =>
          response.writeHead(200, { 'content-type': 'application/json' }).end(text)
      const refusals: [error: string, said: RegExp][] = [
        [JSON.stringify({ code: odd, message: 'no' }), /failed: no$/],
        [JSON.stringify({ code: -32_602, message: odd }), /failed: -32602$/],
        [`{"code":"x","message":${deep}}`, /failed: x$/],
        ['{}', /failed: it does not say why$/]
      ]
      for (const [error, message] of refusals) {
        const agent = await serve(t, respond(`{"jsonrpc":"2.0","id":1,"error":${error}}`), direct)
        await t.rejects(agent.run('x', createContext()), { code: 'A2A_ERR_REMOTE', message })
      }
      const endpoint = { protocolBinding: 'JSONRPC', protocolVersion: '1.0', url: '/' }
      const cards: [supported: object, said: RegExp][] = [
        [{ ...endpoint, protocolVersion: odd }, /names no JSON-RPC endpoint/],
        [{ ...endpoint, protocolVersion: ['1.0'] }, /names no JSON-RPC endpoint/],
        [{ ...endpoint, url: '//ada:secret@HOST/' }, /user/]
      ]
      for (const [supported, message] of cards) {
        const agent = await serve(t, (response, request) => {
          const card = JSON.stringify({ supportedInterfaces: [supported] })
          respond(card.replace('HOST', request.headers.host!))(response, request)
        })
        await t.rejects(agent.run('x', createContext()), { code: 'A2A_ERR_BAD_ANSWER', message })
      }
    })

    t.test('refusals are permanent, failures are retryable', async (t) => {
      const status =
        (code: number): Answer =>
        (response) =>
          response.writeHead(code).end()
      const fault =
        (code: number): Answer =>
        (response) =>
          response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(json({ error: { code, message: 'no' } }))
      const cases: [retryable: boolean, answer: Answer, more: object][] = [
        [false, status(404), {}],
        [false, status(401), {}],
        [true, status(503), {}],
        [false, status(403), direct],
        [true, status(429), direct],
        [true, status(500), direct],
        ...[-32600, -32601, -32602, -32001, -32004, -32009].map((code): (typeof cases)[0] => [
          false,
          fault(code),
          direct
        ]),
        ...[-32603, -32000, 1].map((code): (typeof cases)[0] => [true, fault(code), direct])
      ]
      const engine = createRunEngine()
      t.teardown(() => engine.close())
      for (const [retryable, answer, more] of cases) {
        const run = await engine.start(await serve(t, answer, more), 'x')
        await t.rejects(run.result(), { code: 'A2A_ERR_REMOTE', retryable })
      }
    })
  })

t.test('the log has the URL without its credentials; the error does not have it', async (t) => {
  const logged: string[] = []
  const note = (...said: unknown[]) => void logged.push(inspect(said, { depth: 9 }))
  const engine = createRunEngine({ log: { debug: note, info: note, warn: note, error: note } })
  t.teardown(() => engine.close())
  const missing: Answer = (response) => response.writeHead(404).end()
  const url = new URL(await listen(t, missing))
  const agent = remoteAgent({ url: `${url.origin}/nothing?key=secret` })
  await t.rejects((await engine.start(agent, 'x')).result(), { message: /^[^:]+: it has no agent card$/ })
  t.match(logged.join(), `${url.host}/nothing/.well-known/agent-card.json`)
  t.notMatch(logged.join(), /secret/)
})

t.test('no context is needed without an engine', async (t) => {
  const agent = await serve(t, (response) => response.writeHead(404).end())
  await t.rejects(agent.run('x'), { code: 'A2A_ERR_REMOTE' })
})
