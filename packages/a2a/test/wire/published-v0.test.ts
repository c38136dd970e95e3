import t, { type Test } from 'tap'
import type { OperationName } from '../../src/model/requests.ts'
import { OPERATION_NAMES } from '../../src/operations.ts'
import { asker, createWaiting, failing, giver, worker } from '../helpers/agents.ts'
import { askByRpc } from '../helpers/ask.ts'
import { buildApp, echo, say, type RpcReply } from '../helpers/build-app.ts'
import { faultsOf, type PublishedTypes } from '../helpers/published/faults-of.ts'
import { LEGACY_ANSWERS } from '../helpers/published/operation-types.ts'
import { createReceiver } from '../helpers/receiver.ts'
import { SECURITY_SCHEMES } from '../helpers/security-schemes.ts'

// The published schema does not cover HTTP+JSON of 0.3, which is the JSON of a proto.

t.setTimeout(120_000)

const CARD = '/.well-known/agent-card.json'

/** Operations that 0.2 does not have yet. */
const SINCE_0_3 = /^(?:List|Delete|GetAuth)|^AgentCard/

type Kept = [type: PublishedTypes['0.3'], value: unknown]

t.test('answers match the published schemas of 0.3 and 0.2', async (t) => {
  const { kept, asked } = await gather(t)
  t.same(asked.sort(), [...OPERATION_NAMES].sort(), 'every row of the table')
  for (const [type, value] of kept) {
    t.same(faultsOf('0.3', type, value), [], type)
    if (!SINCE_0_3.test(type)) t.same(faultsOf('0.2', type as PublishedTypes['0.2'], value), [], type)
  }
})

t.test('a card for all versions extends that of 0.3 and 0.2', async (t) => {
  const schemes = ({ mutual: _, ...older }: typeof SECURITY_SCHEMES) => older
  const read = async (schemes: object) => {
    const authenticate = Object.assign(() => null, { schemes: schemes as typeof SECURITY_SCHEMES })
    const { origin } = await buildApp(t, { options: { authenticate } })
    return (await fetch(origin + CARD)).json()
  }
  const open = { isOpen: true }
  t.same(faultsOf('0.3', 'AgentCard', await read(SECURITY_SCHEMES), open), [])
  t.same(faultsOf('0.2', 'AgentCard', await read(schemes(SECURITY_SCHEMES)), open), [])
})

t.test('the check finds faults', async (t) => {
  const { rpc } = await buildApp(t)
  const answer = await rpc('message/send', say('echo'))
  const { result } = answer
  const wrong: [fault: RegExp, result: object][] = [
    [/"more"/, { ...result, more: 1 }],
    [/kind must be equal/, { ...result, kind: 'tusk' }],
    [/state must be equal/, { ...result, status: { ...result.status, state: 'TASK_STATE_COMPLETED' } }],
    [/required property 'contextId'/, { ...result, contextId: undefined }]
  ]
  for (const version of ['0.2', '0.3'] as const) {
    const faults = (each: object) => faultsOf(version, 'GetTaskSuccessResponse', { ...answer, result: each })
    t.same(faults(result), [])
    for (const [fault, each] of wrong) t.match(faults(each).join('\n'), fault)
    t.not(faultsOf(version, 'AgentCard', {}, { isOpen: true }).length, 0)
  }
})

/** Answers of every operation, and of every kind of task and error. */
async function gather(t: Test): Promise<{ kept: Kept[]; asked: OperationName[] }> {
  const waiting = createWaiting()
  const app = await buildApp(t, {
    runnables: [worker, asker, failing, echo, giver, waiting.runnable],
    options: {
      versions: ['0.3'],
      provider: { organization: 'We' },
      pushNotifications: { allowPrivate: true, backoff: 5 },
      authenticate: Object.assign(() => ({ sub: 'me', scopes: [] }), { schemes: SECURITY_SCHEMES }),
      extendedCard: (card) => card
    }
  })
  const receiver = await createReceiver(t)
  const kept: Kept[] = []
  const asked = new Set<OperationName>()
  const keep = (type: Kept[0], ...values: unknown[]) =>
    kept.push(...values.map((value): Kept => [type, value]))
  const ask = async (name: OperationName, params: object, opened?: () => unknown) => {
    const answers = await askByRpc(app, name, '0.3', params, opened)
    asked.add(name)
    if (name !== 'list') keep(LEGACY_ANSWERS[name], ...answers)
    return answers as [RpcReply, ...RpcReply[]]
  }
  const send = async (text: string, fields: object = {}, configuration: object = {}) => {
    const [{ result }] = await ask('send', { ...say(text, fields), configuration })
    return result as {
      id: string
      status: { state: string; timestamp: string }
      history: { parts: object[] }[]
    }
  }
  const atOnce = { blocking: false }

  const file = { kind: 'file', file: { bytes: '-_8', name: 'a.txt', mimeType: 'text/plain' } }
  const link = { kind: 'file', file: { uri: 'https://example.org/a' } }
  const parts = [{ kind: 'text', text: 'echo' }, file, link, { kind: 'data', data: { a: [1, null] } }]
  const tasks = await Promise.all([
    send('worker'),
    send('asker', { extensions: ['https://example.org/x'], referenceTaskIds: ['another'] }),
    send('failing'),
    send('', { parts, metadata: { a: [1] } }),
    send('giver'),
    send('waiting', {}, atOnce)
  ])
  const states = ['completed', 'input-required', 'failed', 'completed', 'completed', 'working']
  t.same(
    tasks.map(({ status }) => status.state),
    states
  )
  for (const { status } of tasks) t.match(status.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.match(tasks[3].history[0]!.parts[1], { file: { bytes: '' }, metadata: { size: 2 } }, 'base64 of any form')
  const [done, waits, works] = [tasks[0].id, tasks[1].id, tasks[5].id]
  for (const { id } of tasks) await ask('get', { id, historyLength: 1 })
  const [page] = await ask('list', { includeArtifacts: true })
  keep('Task', ...(page.result.tasks as unknown[]))

  for (const name of ['worker', 'asker', 'failing', 'giver']) await ask('stream', say(name))
  await ask('subscribe', { id: done })
  await ask('subscribe', { id: waits }, () => send('deny', { taskId: waits }))

  const authentication = { schemes: ['Bearer', 'Basic'], credentials: 'x' }
  const pushNotificationConfig = { id: 'p', url: receiver.url, token: 'y', authentication }
  const named = { id: works, pushNotificationConfigId: 'p' }
  await ask('setPushConfig', { taskId: works, pushNotificationConfig })
  await ask('getPushConfig', named)
  await ask('getPushConfig', { id: works })
  await ask('listPushConfigs', { id: works })
  await ask('subscribe', { id: works }, waiting.goOn)
  await send('asker', {}, { pushNotificationConfig: { url: receiver.url } })
  keep('Task', ...(await receiver.until(3)).map(({ body }) => body as unknown))
  await ask('deletePushConfig', named)
  await ask('listPushConfigs', { id: works })

  await ask('cancel', { id: (await send('waiting', {}, atOnce)).id })
  await ask('extendedCard', {})
  keep('AgentCard', await (await fetch(app.origin + CARD)).json())
  keep('JSONRPCErrorResponse', ...(await gatherErrors(t, app, done)))
  return { kept, asked: [...asked] }
}

async function gatherErrors(
  t: Test,
  { rpc, url }: Awaited<ReturnType<typeof buildApp>>,
  done: string
): Promise<RpcReply[]> {
  const bare = await buildApp(t)
  const locked = await buildApp(t, { options: { authenticate: () => null } })
  const post = async (body: string, type = 'application/json') => {
    const response = await fetch(url, { method: 'POST', headers: { 'content-type': type }, body })
    return (await response.json()) as RpcReply
  }
  const { id } = (await bare.rpc('message/send', say('x'))).result as { id: string }
  const errors: [code: number, answer: RpcReply][] = [
    [-32700, await post('{')],
    [-32600, await post('[]')],
    [-32601, await rpc('nothing')],
    [-32602, await rpc('tasks/get', {})],
    [-32001, await rpc('tasks/get', { id: 'nothing' })],
    [-32002, await rpc('tasks/cancel', { id: done })],
    [-32003, await bare.rpc('tasks/pushNotificationConfig/list', { id })],
    [-32004, await rpc('message/send', say('x', { taskId: done }))],
    [-32005, await post('{}', 'text/plain')],
    [-32007, await bare.rpc('agent/getAuthenticatedExtendedCard', {})],
    [-32009, await rpc('tasks/get', { id: done }, { 'a2a-version': '9.0' })],
    [-32000, await locked.rpc('tasks/get', { id: done })],
    [-32000, await post('{}'.padEnd(1_100_000))]
  ]
  for (const [code, answer] of errors) t.equal(answer.error?.code, code)
  return errors.map(([, answer]) => answer)
}
