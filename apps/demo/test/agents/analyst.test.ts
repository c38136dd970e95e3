import type { AddressInfo } from 'node:net'
import type { ClientToServerEvents, ServerToClientEvents } from '@svc/gateway'
import { io, type Socket } from 'socket.io-client'
import t from 'tap'
import { buildApp } from '../../src/app.ts'
import { readEnv } from '../../src/env.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'

const env = readEnv({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' })
const app = await buildApp(env, createOfflineModel({ delay: 0 }))

const post = (path: string, input: string) =>
  app.inject({ method: 'POST', url: `/api/agents/analyst/${path}`, payload: { input } })
const say = async (input: string) => (await post('run', input)).json<{ text: string; toolCalls: object[] }>()
const block = (code: string) => `Run this:\n\`\`\`js\n${code}\n\`\`\``

t.test('writes a program for numbers, which calls a tool of the host', async (t) => {
  const { text, toolCalls } = await say('What about 2, 4.5 and -9?')
  t.match(text, /"count": 3,\n {2}"sum": -2\.5,[^]*"median": 2,\n {2}"min": -9,\n {2}"max": 4\.5/)
  t.match(toolCalls, [
    { toolName: 'compute', args: { code: /tools\.calculate/ } },
    { toolName: 'calculate', parentToolCallId: /^call_/, args: { expression: '(2) + (4.5) + (-9)' } }
  ])
})

t.test('more numbers than the tool takes', async (t) => {
  const { text } = await say(Array.from({ length: 200 }, (_, n) => n).join(', '))
  t.match(text, /"count": 200,\n {2}"sum": 19900/)
})

t.test('reads numbers as people write them', async (t) => {
  for (const [input, count, sum] of [
    ['statistics of 1,000 and 2,500.5', 2, 3500.5],
    ['the mean of 100,200,300', 3, 600],
    ['from 10-20, and -5', 3, 25]
  ] as const)
    t.match((await say(input)).text, `"count": ${count},\n  "sum": ${sum},`, input)
  t.match(await say('```python\nprint(1 + 2)\n```'), { text: /^Send me some numbers/ })
})

t.test('runs the program that it is given, and tells what came of it', async (t) => {
  t.match(await say(block('console.log("hi")\nreturn input ?? 6 * 7')), {
    text: 'The program gave:\n42\n\nIt wrote:\nhi\n'
  })
  t.match(await say(block('x.y')), { text: /^The program failed\. ReferenceError: x is not defined/ })
  t.match(await say(block('for (;;);')), { text: 'The program failed. The program took longer than 2000 ms' })
  t.match(await say(block('return typeof process + typeof require + typeof fetch')), {
    text: /undefinedundefinedundefined/
  })
  t.match(await say('Hello'), { text: /^Send me some numbers/ })
})

t.test('as a stream', async (t) => {
  const { body, headers } = await post('stream', '1 2 3')
  t.match(headers['content-type'], /^text\/event-stream/)
  const parts = [...body.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data!) as { type: string })
  const types = parts.map(({ type }) => type)
  t.strictSame(
    types.filter((type) => type.startsWith('tool.')),
    ['tool.call', 'tool.call', 'tool.result', 'tool.result']
  )
  t.equal(types.at(-1), 'finish')
})

t.test('over Socket.IO', async (t) => {
  t.after(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const socket: Socket<ServerToClientEvents, ClientToServerEvents> = io(`http://127.0.0.1:${port}`, {
    transports: ['websocket']
  })
  const tools: string[] = []
  socket.on('agent.tool.call', ({ toolName }) => void tools.push(toolName))
  const done = new Promise<string>((resolve, reject) => {
    socket.on('agent.done', ({ output }) => resolve(output.text))
    socket.on('agent.error', ({ error }) => reject(new Error(error)))
    socket.on('connect_error', reject)
  })
  const ack = await socket.emitWithAck('agent.run', { name: 'analyst', input: '1 2 3' })
  t.match(ack, { runId: /./ })
  t.match(await done, /"sum": 6/)
  t.strictSame(tools, ['compute', 'calculate'])
  socket.disconnect()
})
