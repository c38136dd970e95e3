import { remoteAgent, type RemoteAgentOptions } from '@svc/a2a'
import { createContext } from '@svc/registry'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'

t.setTimeout(180_000)

type Answer = (response: ServerResponse, method: string, request: IncomingMessage) => unknown

/** A service that answers every request alike, the methods it was asked for, and its agent. */
async function serve(t: Test, answer: Answer, options: Partial<RemoteAgentOptions> = { version: '1.0' }) {
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const { method = nameOf(request) } = (body === '' ? {} : JSON.parse(body)) as { method?: string }
    asked.push(method)
    await answer(response, method, request)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const agent = remoteAgent({ url, ...options })
  return { asked, run: () => agent.run('x', createContext()) }
}

/** The method of JSON-RPC that a path of HTTP+JSON stands for. */
function nameOf({ url = '' }: IncomingMessage): string {
  if (url.includes('.well-known')) return 'card'
  if (url.endsWith('/message:stream')) return 'SendStreamingMessage'
  if (url.endsWith(':subscribe')) return 'SubscribeToTask'
  return url.endsWith(':cancel') ? 'CancelTask' : 'GetTask'
}

const JSON_TYPE = { 'content-type': 'application/json' }
const EVENTS_TYPE = { 'content-type': 'text/event-stream' }
const ids = { taskId: 't', contextId: 'c' }
const status = (state: string) => ({ statusUpdate: { ...ids, status: { state: `TASK_STATE_${state}` } } })
const says = (text: string) => ({
  artifactUpdate: { ...ids, artifact: { artifactId: 'a', parts: [{ text }] }, append: true }
})
const task = (state: string, text = '') => ({
  id: 't',
  contextId: 'c',
  status: { state: `TASK_STATE_${state}` },
  artifacts: text === '' ? [] : [{ artifactId: 'a', parts: [{ text }] }]
})

/** Writes until the client leaves or the limit is reached; returns the characters written. */
async function pour(response: ServerResponse, text: string, most: number): Promise<number> {
  let sent = 0
  while (sent < most && !response.destroyed) {
    sent += text.length
    if (response.write(text)) await pause(0)
    else await Promise.race([new Promise((go) => response.once('drain', go)), closed(response)])
  }
  response.end()
  return sent
}

function closed(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => response.once('close', resolve))
}

for (const binding of ['JSONRPC', 'HTTP+JSON'])
  t.test(binding, { timeout: 90_000 }, async (t) => {
    const direct = { version: '1.0', binding } as const
    const reply = (result: object) =>
      JSON.stringify(binding === 'JSONRPC' ? { jsonrpc: '2.0', id: 1, result } : result)
    const event = (result: object) => `data: ${reply(result)}\n\n`

    t.test('answers over the limit are not read to the end', async (t) => {
      const line = 'a'.repeat(10_000)
      const answers: Record<string, [type: object, text: string, options: Partial<RemoteAgentOptions>]> = {
        'a card': [JSON_TYPE, line, {}],
        'an answer': [JSON_TYPE, line, { ...direct, maxBytes: 1_000_000 }],
        'an event of one line': [EVENTS_TYPE, line, { ...direct, maxBytes: 1_000_000 }],
        'an event of many lines': [EVENTS_TYPE, `data: ${line}\n`, { ...direct, maxBytes: 1_000_000 }],
        'an event of many lines, with comments in between': [
          EVENTS_TYPE,
          `data: ${line}\n:\n`,
          { ...direct, maxBytes: 1_000_000 }
        ],
        'a comment': [EVENTS_TYPE, `:${line}`, { ...direct, maxBytes: 1_000_000 }]
      }
      for (const [what, [type, text, options]] of Object.entries(answers)) {
        const sent = Promise.withResolvers<number>()
        const { run } = await serve(
          t,
          async (response) => {
            response.writeHead(200, { ...type })
            sent.resolve(await pour(response, text, 100_000_000))
          },
          options
        )
        await t.rejects(run(), { code: 'A2A_ERR_BAD_ANSWER', message: /too large/ }, what)
        // The system's buffers decide how much is under way by then.
        t.ok((await sent.promise) < 30_000_000, `${what}: ${await sent.promise}`)
      }
    })

    t.test('the limit of an answer is an option, in bytes', async (t) => {
      for (const [type, wrap] of [
        [JSON_TYPE, (text: string) => reply({ task: task('COMPLETED', text) })],
        [EVENTS_TYPE, (text: string) => event({ task: task('COMPLETED', text) })]
      ] as const) {
        const answer = (text: string) => (response: ServerResponse) =>
          response.writeHead(200, type).end(wrap(text))
        const options = { ...direct, maxBytes: 20_000 }
        for (const text of ['a'.repeat(19_000), 'ü'.repeat(9_000)])
          t.equal((await (await serve(t, answer(text), options)).run()).text, text)
        for (const text of ['a'.repeat(20_001), 'ü'.repeat(10_001)])
          await t.rejects((await serve(t, answer(text), options)).run(), { message: /too large/ })
      }
    })

    t.test('an endless stream ends at the byte limit of a task', async (t) => {
      const { run, asked } = await serve(
        t,
        async (response, method) => {
          if (method === 'CancelTask') return response.writeHead(200, JSON_TYPE).end(reply(task('CANCELED')))
          response.writeHead(200, EVENTS_TYPE)
          return pour(response, event(status('WORKING')), 100_000_000)
        },
        { ...direct, maxBytes: 10_000 }
      )
      await t.rejects(run(), { code: 'A2A_ERR_BAD_ANSWER', message: /more than 160000 bytes for one task/ })
      while (!asked.includes('CancelTask')) await pause(1)
    })

    t.test('an endless stream ends at the time limit of a task', async (t) => {
      const { run, asked } = await serve(
        t,
        async (response, method) => {
          if (method === 'CancelTask') return response.writeHead(200, JSON_TYPE).end(reply(task('CANCELED')))
          response.writeHead(200, EVENTS_TYPE)
          while (!response.destroyed) {
            response.write(event(status('WORKING')))
            await pause(5)
          }
          return undefined
        },
        { ...direct, taskTimeout: 300 }
      )
      await t.rejects(run(), { code: 'A2A_ERR_REMOTE', message: /its task takes longer than 300 ms/ })
      while (!asked.includes('CancelTask')) await pause(1)
    })

    t.test('an endless task ends at the time limit when polled', async (t) => {
      const { run, asked } = await serve(
        t,
        (response, method) =>
          method === 'SendStreamingMessage' || method === 'SubscribeToTask'
            ? response.writeHead(200, EVENTS_TYPE).end(event({ task: task('WORKING') }))
            : response.writeHead(200, JSON_TYPE).end(reply(task('WORKING'))),
        { ...direct, taskTimeout: 3_500 }
      )
      await t.rejects(run(), { code: 'A2A_ERR_REMOTE', message: /longer than 3500 ms/ })
      t.ok(asked.includes('GetTask'))
    })

    t.test('a stalled stream is resumed, then the task is polled', async (t) => {
      const { run, asked } = await serve(
        t,
        (response, method) => {
          if (method === 'GetTask')
            return response.writeHead(200, JSON_TYPE).end(reply(task('COMPLETED', 'late')))
          return response.writeHead(200, EVENTS_TYPE).write(event({ task: task('WORKING') }))
        },
        { ...direct, idleTimeout: 100 }
      )
      t.match(await run(), { text: 'late' })
      t.same(asked, [
        'SendStreamingMessage',
        'SubscribeToTask',
        'SubscribeToTask',
        'SubscribeToTask',
        'GetTask'
      ])
    })

    t.test('a stall before the task is known ends the run', async (t) => {
      for (const [type, text] of [
        [EVENTS_TYPE, 'data: {"js'],
        [EVENTS_TYPE, ''],
        [JSON_TYPE, '{"jsonrpc":']
      ] as const) {
        const silent: Answer = (response) => response.writeHead(200, type).write(text || '\n')
        const { run } = await serve(t, silent, { ...direct, idleTimeout: 100 })
        await t.rejects(run(), { code: 'A2A_ERR_REMOTE', message: /its answer breaks off/ })
      }
    })

    t.test('heartbeats keep a slow service alive', async (t) => {
      const { run, asked } = await serve(
        t,
        async (response) => {
          response.writeHead(200, EVENTS_TYPE).write(event(says('at ')))
          for (let time = 0; time < 10; time++) {
            await pause(40)
            response.write(':\n\n')
          }
          response.end(event(says('last')) + event(status('COMPLETED')))
        },
        { ...direct, idleTimeout: 250 }
      )
      t.match(await run(), { text: 'at last' })
      t.same(asked, ['SendStreamingMessage'])
    })

    t.test('the idle time does not run while no one reads', async (t) => {
      const large = event(says('x'.repeat(200_000)))
      const server = createServer((request, response) => {
        request.resume().on('end', () => {
          response.writeHead(200, EVENTS_TYPE).end(large.repeat(20) + event(status('COMPLETED')))
        })
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      t.teardown(() => server.close())
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const agent = remoteAgent({ url, ...direct, idleTimeout: 1_000 })
      let text = ''
      for await (const part of agent.stream('x', createContext())) {
        if (part.type !== 'text') continue
        if (text.length === 400_000) await pause(2_500)
        text += part.text
      }
      t.equal(text.length, 4_000_000)
    })

    t.test('redirects are reported, not followed', async (t) => {
      for (const options of [{}, direct])
        for (const code of [301, 302, 307, 308]) {
          const { run, asked } = await serve(
            t,
            (response, _method, { url }) => response.writeHead(code, { location: url }).end(),
            options
          )
          const message = new RegExp(`redirects \\(status ${code}\\), which is not followed`)
          await t.rejects(run(), { code: 'A2A_ERR_REMOTE', retryable: false, message })
          t.equal(asked.length, 1)
        }
    })

    t.test('an id that is too long is invalid', async (t) => {
      const long = 'x'.repeat(1_025)
      const answers: object[] = [
        { task: { ...task('COMPLETED'), id: long } },
        { task: { ...task('COMPLETED'), contextId: long } },
        { message: { messageId: 'm', role: 'ROLE_AGENT', contextId: long, parts: [{ text: 'a' }] } },
        { statusUpdate: { ...status('WORKING').statusUpdate, taskId: long } },
        { artifactUpdate: { ...says('a').artifactUpdate, contextId: long } },
        { artifactUpdate: { ...ids, artifact: { artifactId: long, parts: [{ text: 'a' }] } } }
      ]
      for (const answer of answers) {
        const { run } = await serve(
          t,
          (response) => response.writeHead(200, EVENTS_TYPE).end(event(answer)),
          direct
        )
        await t.rejects(run(), { code: 'A2A_ERR_BAD_ANSWER', message: /an id is too long/ })
      }
    })
  })

t.test('invalid limits', async (t) => {
  const url = 'http://127.0.0.1:1'
  for (const name of ['maxBytes', 'idleTimeout', 'taskTimeout'] as const)
    for (const bad of [0, -1, 1.5, '1s', Infinity, Number.NaN])
      t.throws(() => remoteAgent({ url, [name]: bad as number }), {
        code: 'A2A_ERR_BAD_OPTION',
        message: new RegExp(`${name}: expected an integer`)
      })
})
