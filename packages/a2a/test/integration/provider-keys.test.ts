import { hash } from 'node:crypto'
import { grpcBinding } from '@svc/a2a/grpc'
import { createInProcessStores, type RunnableDefinition, type Stores } from '@svc/registry'
import t, { type Test } from 'tap'
import type { OperationName } from '../../src/model/requests.ts'
import { anyone, buildApp, say, sayV1, type AppRequest, type TestApp } from '../helpers/build-app.ts'
import { ask, BINDINGS } from '../helpers/conformance-client.ts'
import { connectGrpc, grpcUrlOf } from '../helpers/grpc-client.ts'

const OWN = 'sk-own-0123456789abcdef'
const GENERIC = 'sk-generic-0123456789abcdef'
const OTHER = 'sk-other-0123456789abcdef'
const digest = (key = '') => hash('sha256', key)

/** Answers with a digest of the key that it has for OpenAI, and with its input. */
const teller: RunnableDefinition = {
  kind: 'agent',
  name: 'teller',
  async *stream(input, context) {
    const key = context.apiKey('openai')?.reveal()
    context.log.warn({ key }, `told ${key}`)
    yield { type: 'text', text: `${digest(key)} ${JSON.stringify(input)} ${key}` }
  }
}

/** Tells the same after an answer. */
const asking: RunnableDefinition = {
  kind: 'agent',
  name: 'asking',
  async *stream(_input, context) {
    const content = await context.ask({ message: 'Which?' })
    const key = context.apiKey('openai')?.reveal()
    yield { type: 'text', text: `${digest(key)} ${JSON.stringify(content)}` }
  }
}

/** The stores in memory, and all that they are given, as JSON. */
function watchStores() {
  const given: string[] = []
  const watch = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (_, name) => {
        const method: unknown = Reflect.get(target, name)
        if (typeof method !== 'function') return method
        return (...args: unknown[]) => {
          given.push(`${String(name)} ${JSON.stringify(args)}`)
          return method.apply(target, args) as unknown
        }
      }
    })
  const stores = createInProcessStores()
  const { runs, log, sessions, tasks, checkpoints } = stores
  const watched: Stores = {
    ...stores,
    runs: watch(runs),
    log: watch(log),
    sessions: watch(sessions),
    tasks: watch(tasks),
    checkpoints: watch(checkpoints)
  }
  return { given, stores: watched }
}

async function serve(t: Test, options: AppRequest['options'] = {}) {
  const { given, stores } = watchStores()
  const lines: string[] = []
  const app = await buildApp(t, {
    runnables: [teller, asking],
    engine: { stores },
    fastify: { logger: { level: 'debug', stream: { write: (line) => void lines.push(line) } } },
    options: { authenticate: anyone, ...options, grpc: grpcBinding({ port: 0 }) }
  })
  const grpc = connectGrpc(t, await grpcUrlOf(app.origin))
  /** Sends a message over every binding; all answers as JSON. */
  const sendOverAll = async (params: () => object, headers: Record<string, string>) => {
    const answers: string[] = []
    for (const binding of BINDINGS)
      for (const name of ['send', 'stream'] satisfies OperationName[])
        answers.push(JSON.stringify(await ask(app, binding, name, params(), headers)))
    answers.push(JSON.stringify(await grpc.call('SendMessage', params(), { metadata: headers })))
    answers.push(JSON.stringify(await grpc.stream('SendStreamingMessage', params(), { metadata: headers })))
    return answers
  }
  return { app, given, lines, sendOverAll }
}

const textOf = async (app: TestApp, params: object, headers?: Record<string, string>) => {
  const { result } = await app.rpc('message/send', params, headers)
  return { ...result, text: JSON.stringify(result.artifacts ?? []) } as {
    id: string
    text: string
    history: object[]
    status: { state: string }
  }
}

t.test('a caller’s key reaches the agent over every binding, the header of the provider first', async (t) => {
  const { sendOverAll } = await serve(t)
  const cases: [headers: Record<string, string>, key: string | undefined][] = [
    [{}, undefined],
    [{ 'x-api-key': GENERIC }, GENERIC],
    [{ 'x-openai-api-key': OWN, 'x-api-key': GENERIC }, OWN],
    [{ 'x-vendora-api-key': OWN, 'x-api-key': GENERIC }, OWN],
    [{ 'x-google-api-key': OTHER, 'x-api-key': GENERIC }, GENERIC],
    [{ 'x-google-api-key': OTHER }, undefined]
  ]
  for (const [headers, key] of cases)
    for (const [index, answer] of (await sendOverAll(() => sayV1('x'), headers)).entries())
      t.ok(answer.includes(digest(key)), `${Object.keys(headers).join()} ${index}`)
})

t.test('`providerKeyHeaders` replaces the headers of providers', async (t) => {
  const { sendOverAll } = await serve(t, { providerKeyHeaders: { 'x-my-key': 'openai' } })
  const headers = { 'x-my-key': OWN, 'x-openai-api-key': OTHER, 'x-api-key': GENERIC }
  for (const answer of await sendOverAll(() => sayV1('x'), headers)) t.ok(answer.includes(digest(OWN)))
})

t.test('the key is in no store, no log and no answer', async (t) => {
  const { app, given, lines, sendOverAll } = await serve(t)
  const headers = { 'x-openai-api-key': OWN, 'x-api-key': GENERIC, 'x-google-api-key': OTHER }
  const leaking = (agentName: string) =>
    sayV1(`${OWN} ${GENERIC} ${OTHER}`, { metadata: { agentName, note: OWN } })
  const told = await sendOverAll(() => leaking('teller'), headers)
  told.push(JSON.stringify(await ask(app, 'rpc', 'list', { includeArtifacts: true })))
  const { task } = (await ask(app, 'rest', 'send', leaking('asking'), headers)).result
  const taskId = task.id as string
  told.push(JSON.stringify(task))
  const answer = sayV1(OWN, { taskId })
  told.push(JSON.stringify(await ask(app, 'rpc', 'send', answer, headers)))
  told.push(JSON.stringify(await ask(app, 'rpc', 'get', { id: taskId })))
  told.push(JSON.stringify(await ask(app, 'rpc', 'send', sayV1(OWN, { taskId: 'nothing' }), headers)))
  told.push(JSON.stringify(await ask(app, 'rest', 'send', sayV1('x', { parts: [] }), headers)))
  const places = { told, given, lines }
  for (const [place, texts] of Object.entries(places)) {
    t.ok(texts.join('\n').includes('[redacted]'), place)
    for (const key of [OWN, GENERIC, OTHER])
      t.equal(
        texts.find((each) => each.includes(key)),
        undefined,
        `${place} ${key}`
      )
  }
})

t.test('an answer to a waiting task needs no key, and a repeated message is the same task', async (t) => {
  const { app } = await serve(t)
  const headers = { 'x-api-key': OWN }
  for (const text of ['x', `my key is ${OWN}`]) {
    const first = say(text, { messageId: `m ${text.length}`, metadata: { agentName: 'asking' } })
    const { id, status } = await textOf(app, first, headers)
    t.equal(status.state, 'input-required')
    t.equal((await textOf(app, first, headers)).id, id, 'repeated while it waits')
    const answer = say('this one', { messageId: `answer ${text.length}`, taskId: id })
    const done = await textOf(app, answer)
    t.equal(done.status.state, 'completed')
    t.ok(done.text.includes(digest(OWN)) && done.text.includes('this one'))
    t.equal((await textOf(app, first, headers)).id, id, 'repeated after its end')
    const again = await textOf(app, answer)
    t.equal(again.history.length, done.history.length, 'one answer')
  }
  const plain = say('y', { messageId: 'plain', metadata: { agentName: 'teller' } })
  const { id } = await textOf(app, plain, headers)
  t.equal((await textOf(app, plain)).id, id, 'the key is no part of the message')
})
