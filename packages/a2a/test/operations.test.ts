import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import type { ProtocolVersion } from '../src/wire/versions.ts'
import type { OperationName } from '../src/model/requests.ts'
import { OPERATION_NAMES, OPERATIONS } from '../src/operations.ts'
import { asker, createWaiting, worker } from './helpers/agents.ts'
import { grpcBinding } from '@svc/a2a/grpc'
import { askByGrpc, askByRest, askByRpc } from './helpers/ask.ts'
import { anyone, buildApp } from './helpers/build-app.ts'
import { faultsOf } from './helpers/published/faults-of.ts'
import { lostByProto } from './helpers/published/official-codec.ts'
import { ANSWERS, LEGACY_ANSWERS } from './helpers/published/operation-types.ts'
import { toNeutral } from './helpers/to-neutral.ts'

type Way = `${'rpc' | 'rest' | 'grpc'} ${ProtocolVersion}`
const WAYS: Way[] = ['rpc 0.3', 'rpc 1.0', 'rest 0.3', 'rest 1.0', 'grpc 0.3', 'grpc 1.0']
/** Ways in which a request can name a tenant. */
const TENANT_WAYS: Way[] = ['rpc 1.0', 'rest 1.0', 'grpc 1.0']

/** The subject of a request, in all versions. */
interface Subject {
  taskId: string
  agentName: string
}

const push = { id: 'p1', url: 'https://example.org/hook', token: 'x' }
const text = 'see'

/** The parameters of each operation, in the words of each way. */
function paramsOf(name: OperationName, way: Way, { taskId, agentName }: Subject): Record<string, unknown> {
  const isLegacy = way.endsWith('0.3')
  const isProto = way !== 'rpc 0.3'
  const part = way === 'rpc 0.3' ? { kind: 'text', text } : { text }
  const message = {
    messageId: randomUUID(),
    role: isProto ? 'ROLE_USER' : 'user',
    [isProto && isLegacy ? 'content' : 'parts']: [part],
    metadata: { agentName }
  }
  const legacyPush = { ...push, authentication: { schemes: ['Bearer'], credentials: 'y' } }
  const currentPush = { ...push, authentication: { scheme: 'Bearer', credentials: 'y' } }
  if (way === 'grpc 0.3' && !isNew(name) && name !== 'extendedCard') return namesOf(name, taskId, legacyPush)
  switch (name) {
    case 'send':
    case 'stream':
      return { message }
    case 'list':
      return { pageSize: 1 }
    case 'setPushConfig':
      return isLegacy ? { taskId, pushNotificationConfig: legacyPush } : { taskId, ...currentPush }
    case 'getPushConfig':
    case 'deletePushConfig':
      if (way === 'rpc 0.3') return { id: taskId, pushNotificationConfigId: 'p1' }
      return { taskId, id: 'p1' }
    case 'listPushConfigs':
      return way === 'rpc 0.3' ? { id: taskId } : { taskId }
    case 'extendedCard':
      return {}
    default:
      return { id: taskId }
  }
}

/** Names of resources, which 0.3 has over gRPC in the place of ids. */
function namesOf(
  name: OperationName,
  taskId: string,
  pushNotificationConfig: object
): Record<string, unknown> {
  const task = `tasks/${taskId}`
  if (name === 'setPushConfig') return { parent: task, configId: 'p1', config: { pushNotificationConfig } }
  if (name === 'listPushConfigs') return { parent: task }
  const isOfConfig = name === 'getPushConfig' || name === 'deletePushConfig'
  return { name: isOfConfig ? `${task}/pushNotificationConfigs/p1` : task }
}

t.setTimeout(120_000)

t.test('every operation has the same result on every binding and in every version', async (t) => {
  for (const name of OPERATION_NAMES) {
    await t.test(name, async (t) => {
      const seen = new Map<string, unknown>()
      const ways = [
        ...WAYS.map((way) => [way, false] as const),
        ...TENANT_WAYS.map((way) => [way, true] as const)
      ]
      for (const [way, isTenant] of ways) {
        const version = way.slice(-3) as ProtocolVersion
        const { rest, grpc } = OPERATIONS[name]
        if (way.startsWith('grpc') && grpc[version] === undefined) continue
        const routes = way.startsWith('rest') ? rest[version] : ['']
        for (const route of routes) {
          const { app, subject, waiting } = await prepare(t, name)
          const opened = () => name === 'subscribe' && waiting.goOn()
          await waiting.reached()
          const tenant = isTenant && { tenant: isNew(name) ? subject.agentName : 'waiting' }
          const params = { ...paramsOf(name, way, subject), ...tenant }
          const replies = way.startsWith('grpc')
            ? await askByGrpc(t, app, name, version, params, opened)
            : route === ''
              ? (await askByRpc(app, name, version, params, opened)).map(({ result }) => result as unknown)
              : await askByRest(app, route, params, opened)
          check(t, name, way, replies)
          const key = `${way} ${route}${isTenant ? ', of a tenant' : ''}`
          // The card of an agent differs from that of the service.
          if (name === 'extendedCard' && isTenant) t.match(replies, [{ name: 'waiting' }], key)
          else seen.set(key, toComparable(name, replies, app.origin))
        }
      }
      const [[, first] = []] = seen
      for (const [way, neutral] of seen)
        if (way.startsWith('grpc')) t.same(neutral, withoutUnset(first), way)
        else t.same(neutral, first, way)
    })
  }
})

/** True if the operation makes a task; others use the one that waits. */
function isNew(name: OperationName): boolean {
  return name === 'send' || name === 'stream'
}

/** A separate app with a waiting task. */
async function prepare(t: Test, name: OperationName) {
  const waiting = createWaiting()
  const app = await buildApp(t, {
    runnables: [worker, waiting.runnable, asker],
    options: {
      grpc: grpcBinding({ port: 0 }),
      pushNotifications: { lookup: async () => [{ address: '93.184.215.14', family: 4 }] },
      authenticate: anyone,
      extendedCard: (card) => ({ ...card, description: 'more' })
    }
  })
  const begun = await app.rpc('SendMessage', {
    message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'waiting' }] },
    configuration: { returnImmediately: true }
  })
  const taskId = begun.result.task.id as string
  if (name === 'getPushConfig' || name === 'listPushConfigs' || name === 'deletePushConfig')
    await app.rpc('CreateTaskPushNotificationConfig', {
      taskId,
      ...push,
      authentication: { scheme: 'Bearer', credentials: 'y' }
    })
  return { app, waiting, subject: { taskId, agentName: name === 'send' ? 'asker' : 'worker' } }
}

function check(t: Test, name: OperationName, way: Way, replies: unknown[]): void {
  t.ok(replies.length > 0 && replies.every((reply) => reply !== undefined), `${way} answers`)
  // Over gRPC a message is of its type, or it could not be read.
  if (way === 'rest 0.3' || way.startsWith('grpc')) return
  for (const reply of replies) t.same(faultsIn(name, way, reply), [], `${way} is what is published`)
}

/** The faults of a result, by the published schema of its version and, for 1.0, the code of the official SDK. */
function faultsIn(name: OperationName, way: Way, result: unknown): string[] {
  if (way !== 'rpc 0.3')
    return [...faultsOf('1.0', ANSWERS[name], result), ...lostByProto(ANSWERS[name], result)]
  if (name !== 'list') return faultsOf('0.3', LEGACY_ANSWERS[name], { jsonrpc: '2.0', id: 1, result })
  return (result as { tasks: unknown[] }).tasks.flatMap((task) => faultsOf('0.3', 'Task', task))
}

// Compares cards by their facts, and ignores the shape of empty answers and lists.
function toComparable(name: OperationName, replies: unknown[], origin: string): unknown {
  const neutral = JSON.parse(JSON.stringify(replies.map(toNeutral)).replaceAll(origin, 'ORIGIN')) as unknown[]
  const [only] = neutral as Record<string, unknown>[]
  if (name === 'deletePushConfig') return null
  if (name === 'listPushConfigs') return Array.isArray(only) ? only : only!['configs']
  if (name !== 'extendedCard') return neutral
  const { description, skills, version } = only!
  return { description, skills, version }
}

/** As messages of a proto are, where what is empty is the same as what is not there. */
function withoutUnset(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUnset)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(
        ([key, each]) =>
          (key === 'text' || each !== '') && each !== false && !(Array.isArray(each) && each.length === 0)
      )
      .map(([key, each]) => [key, withoutUnset(each)])
  )
}
