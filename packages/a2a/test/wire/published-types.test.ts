import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { asker, createWaiting, failing, worker } from '../helpers/agents.ts'
import { buildApp, echo, say } from '../helpers/build-app.ts'

const PACKAGE = resolve(import.meta.dirname, '../..')
const TSC = resolve(PACKAGE, '../../node_modules/.bin/tsc')

/** Types that the official SDKs have generated from the published JSON schemas, by what has them as its response. */
type Answers = Record<string, unknown[]>

t.setTimeout(120_000)

t.test('what is answered is of the types of the published schemas of 0.3 and 0.2', async (t) => {
  const answers = await gather(t)
  t.same(await faultsOf(t, 'a2a-sdk-v0.3', answers), [])
  const olderTypes = [
    'SendMessageSuccessResponse',
    'SendStreamingMessageSuccessResponse',
    'GetTaskSuccessResponse'
  ]
  t.same(
    await faultsOf(t, 'a2a-sdk-v0.2', Object.fromEntries(olderTypes.map((type) => [type, answers[type]!]))),
    []
  )
  const [task] = answers['GetTaskSuccessResponse'] as [{ result: object }]
  const wrong = { GetTaskSuccessResponse: [{ ...task, result: { ...task.result, more: 1 } }] }
  t.match(await faultsOf(t, 'a2a-sdk-v0.3', wrong), [/error TS2353/])
})

/** Answers of every operation, and of every kind of task and error. */
async function gather(t: Test): Promise<Answers> {
  const waiting = createWaiting()
  const { rpc, stream, origin } = await buildApp(t, {
    runnables: [worker, asker, failing, echo, waiting.runnable],
    options: {
      versions: ['0.3'],
      provider: { organization: 'We' },
      pushNotifications: { allowPrivate: true },
      authenticate: Object.assign(() => ({ sub: 'me', scopes: [] }), {
        schemes: {
          bearer: { type: 'http', scheme: 'bearer' },
          key: { type: 'apiKey', in: 'header', name: 'k' }
        }
      }),
      extendedCard: (card) => card
    }
  })
  const file = { kind: 'file', file: { bytes: 'aGk=', name: 'a.txt', mimeType: 'text/plain' } }
  const link = { kind: 'file', file: { uri: 'https://example.org/a' } }
  const parts = [{ kind: 'text', text: 'echo' }, file, link, { kind: 'data', data: { a: 1 } }]
  const sent = await Promise.all([
    rpc('message/send', say('worker')),
    rpc('message/send', say('asker', { extensions: ['https://example.org/x'] })),
    rpc('message/send', say('failing')),
    rpc('message/send', say('', { parts, metadata: { a: [1] } })),
    rpc('message/send', { ...say('waiting'), configuration: { blocking: false } })
  ])
  const [done, asked, , , works] = sent.map(({ result }) => result.id as string)
  const id = { id: works }
  const push = {
    id: 'p',
    url: 'http://127.0.0.1:9/',
    authentication: { schemes: ['Bearer'], credentials: 'x' }
  }
  const named = { ...id, pushNotificationConfigId: 'p' }
  return {
    SendMessageSuccessResponse: sent,
    SendStreamingMessageSuccessResponse: [
      ...(await stream('message/stream', say('worker'))),
      ...(await stream('message/stream', say('asker'))),
      ...(await stream('tasks/resubscribe', { id: done }))
    ],
    GetTaskSuccessResponse: [
      await rpc('tasks/get', { id: asked }),
      await rpc('tasks/get', { id: done, historyLength: 1 })
    ],
    SetTaskPushNotificationConfigSuccessResponse: [
      await rpc('tasks/pushNotificationConfig/set', { taskId: works, pushNotificationConfig: push })
    ],
    GetTaskPushNotificationConfigSuccessResponse: [await rpc('tasks/pushNotificationConfig/get', named)],
    ListTaskPushNotificationConfigSuccessResponse: [await rpc('tasks/pushNotificationConfig/list', id)],
    DeleteTaskPushNotificationConfigSuccessResponse: [
      await rpc('tasks/pushNotificationConfig/delete', named)
    ],
    CancelTaskSuccessResponse: [await rpc('tasks/cancel', id)],
    GetAuthenticatedExtendedCardSuccessResponse: [await rpc('agent/getAuthenticatedExtendedCard', {})],
    AgentCard: [await (await fetch(`${origin}/.well-known/agent-card.json`)).json()],
    JSONRPCErrorResponse: [
      await rpc('nothing'),
      await rpc('tasks/get', {}),
      await rpc('tasks/get', { id: 'nothing' }),
      await rpc('tasks/cancel', { id: done }),
      await rpc('message/send', say('x', { taskId: done }))
    ]
  }
}

/** What the compiler says of answers as values of their types: literals may have nothing that a type does not know. */
async function faultsOf(t: Test, sdk: string, answers: Answers): Promise<string[]> {
  const lines = Object.entries(answers).flatMap(([type, all]) =>
    all.map((answer) => `answers.push(is<sdk.${type}>(${JSON.stringify(answer)}))`)
  )
  const folder = t.testdir({
    'answers.ts': [
      `import type * as sdk from '${sdk}'`,
      'const is = <T>(answer: T): T => answer',
      'const answers: unknown[] = []',
      ...lines
    ].join('\n'),
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        module: 'nodenext',
        target: 'esnext',
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        types: []
      },
      include: ['answers.ts']
    }),
    'package.json': '{"type":"module"}',
    node_modules: t.fixture('symlink', resolve(PACKAGE, 'node_modules'))
  })
  // What tap loads into every child does not get along with the compiler.
  const run = promisify(execFile)('env', ['-u', 'NODE_OPTIONS', TSC, '-p', folder, '--pretty', 'false'], {
    cwd: folder
  })
  const { stdout } = await run.catch((err: Error & { stdout: string }) => err)
  return stdout.split('\n').filter((line) => line.includes('error TS'))
}
