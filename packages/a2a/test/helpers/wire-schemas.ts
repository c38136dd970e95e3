import { Type, type TSchema } from '@sinclair/typebox'
import type { OperationName } from '../../src/model/requests.ts'
import { CardSchema, LegacyCardSchema } from './card-schemas.ts'
import {
  anything,
  count,
  flag,
  list,
  mapOf,
  maybe,
  maybeFlag,
  metadata,
  oneField,
  oneOf,
  only,
  text,
  texts
} from './strict-schemas.ts'

// What the specifications of 0.3.0 (its JSON objects) and 1.0 (its proto, as JSON) allow: nothing else.
const timestamp = Type.Optional(
  Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' })
)
// RFC 4648, section 4, as ProtoJSON writes it.
const base64 = Type.String({ pattern: '^[A-Za-z0-9+/]*={0,2}$' })
const enumOf = (prefix: string, values: string[]) => oneOf(values.map((value) => prefix + value))

function objects(part: TSchema, role: TSchema, state: TSchema, kinds: boolean) {
  const kind = (name: string) => (kinds ? { kind: Type.Literal(name) } : {})
  const message = only({
    ...kind('message'),
    messageId: text,
    role,
    parts: Type.Array(part, { minItems: 1 }),
    contextId: maybe,
    taskId: maybe,
    metadata,
    extensions: texts,
    referenceTaskIds: texts
  })
  const status = only({ state, message: Type.Optional(message), timestamp })
  const artifact = only({
    artifactId: text,
    name: maybe,
    description: maybe,
    parts: Type.Array(part, { minItems: 1 }),
    metadata,
    extensions: texts
  })
  const task = only({
    ...kind('task'),
    id: text,
    contextId: text,
    status,
    history: list(message),
    artifacts: list(artifact),
    metadata
  })
  const ids = { taskId: text, contextId: text, metadata }
  const statusUpdate = only({ ...kind('status-update'), ...ids, status, ...(kinds && { final: flag }) })
  const artifactUpdate = only({
    ...kind('artifact-update'),
    ...ids,
    artifact,
    append: maybeFlag,
    lastChunk: maybeFlag
  })
  return { message, task, statusUpdate, artifactUpdate }
}

const legacyPart = Type.Union([
  only({ kind: Type.Literal('text'), text, metadata }),
  only({ kind: Type.Literal('data'), data: anything, metadata }),
  only({
    kind: Type.Literal('file'),
    file: Type.Union([
      only({ bytes: base64, name: maybe, mimeType: maybe }),
      only({ uri: text, name: maybe, mimeType: maybe })
    ]),
    metadata
  })
])
const legacyStates =
  'submitted working input-required completed canceled failed rejected auth-required unknown'
const v03 = objects(legacyPart, oneOf(['user', 'agent']), oneOf(legacyStates.split(' ')), true)

const about = { filename: maybe, mediaType: maybe, metadata }
const part = Type.Union([
  only({ text, ...about }),
  only({ raw: base64, ...about }),
  only({ url: text, ...about }),
  only({ data: Type.Unknown(), ...about })
])
const states = 'SUBMITTED WORKING INPUT_REQUIRED COMPLETED CANCELED FAILED REJECTED AUTH_REQUIRED'
const v10 = objects(part, enumOf('ROLE_', ['USER', 'AGENT']), enumOf('TASK_STATE_', states.split(' ')), false)

const push = { id: maybe, url: text, token: maybe }
const legacyAuthentication = only({ schemes: Type.Array(text), credentials: maybe })
const legacyPush = only({
  taskId: text,
  pushNotificationConfig: only({ ...push, authentication: Type.Optional(legacyAuthentication) })
})
const currentFields = {
  ...push,
  authentication: Type.Optional(only({ scheme: text, credentials: maybe }))
}
const currentPush = only({ taskId: text, ...currentFields })

const legacyEvent = Type.Union([v03.task, v03.message, v03.statusUpdate, v03.artifactUpdate])
const event = oneField({
  task: v10.task,
  message: v10.message,
  statusUpdate: v10.statusUpdate,
  artifactUpdate: v10.artifactUpdate
})
const page = { nextPageToken: text, pageSize: count, totalSize: count }

/** What JSON-RPC of 0.2 and 0.3 answers. */
export const LEGACY_RESULTS: Readonly<Record<OperationName, TSchema>> = {
  send: Type.Union([v03.task, v03.message]),
  stream: legacyEvent,
  get: v03.task,
  list: only({ tasks: Type.Array(v03.task), ...page }),
  cancel: v03.task,
  subscribe: legacyEvent,
  setPushConfig: legacyPush,
  getPushConfig: legacyPush,
  listPushConfigs: Type.Array(legacyPush),
  deletePushConfig: Type.Null(),
  extendedCard: LegacyCardSchema
}

/** What both bindings of 1.0 answer. */
export const RESULTS: Readonly<Record<OperationName, TSchema>> = {
  send: oneField({ task: v10.task, message: v10.message }),
  stream: event,
  get: v10.task,
  list: only({ tasks: Type.Array(v10.task), ...page }),
  cancel: v10.task,
  subscribe: event,
  setPushConfig: currentPush,
  getPushConfig: currentPush,
  listPushConfigs: only({ configs: Type.Array(currentPush), nextPageToken: text }),
  deletePushConfig: only({}),
  extendedCard: CardSchema
}

const tenant = { tenant: maybe }
const sendRequest = only({
  ...tenant,
  message: v10.message,
  configuration: Type.Optional(
    only({
      acceptedOutputModes: texts,
      taskPushNotificationConfig: Type.Optional(only({ ...tenant, taskId: maybe, ...currentFields })),
      historyLength: Type.Optional(count),
      returnImmediately: maybeFlag
    })
  ),
  metadata
})

/** What clients of 1.0 send. */
export const REQUESTS = {
  send: sendRequest,
  stream: sendRequest,
  get: only({ ...tenant, id: text, historyLength: Type.Optional(count) }),
  cancel: only({ ...tenant, id: text, metadata }),
  subscribe: only({ ...tenant, id: text })
} satisfies Partial<Record<OperationName, TSchema>>

const rpc = { jsonrpc: Type.Literal('2.0'), id: Type.Union([text, Type.Number(), Type.Null()]) }
const type = (name: string) => Type.Literal(`type.googleapis.com/google.rpc.${name}`)
const details = Type.Array(
  Type.Union([
    only({
      '@type': type('ErrorInfo'),
      reason: Type.String({ pattern: '^[A-Z][A-Z0-9_]+[A-Z0-9]$', maxLength: 63 }),
      domain: text,
      metadata: Type.Optional(mapOf(text))
    }),
    only({
      '@type': type('BadRequest'),
      fieldViolations: Type.Array(only({ field: text, description: text }), { minItems: 1 })
    })
  ]),
  { minItems: 1 }
)

/** An error of JSON-RPC 2.0, in 1.0. */
export const RpcErrorSchema = only({
  ...rpc,
  error: only({ code: Type.Integer(), message: text, data: details })
})

/** An error of HTTP+JSON in 1.0: AIP-193. */
export const RestErrorSchema = only({
  error: only({ code: Type.Integer(), status: Type.String({ pattern: '^[A-Z_]+$' }), message: text, details })
})
