import { Type, type TProperties, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { OperationName } from '../../src/model/requests.ts'

// What the specifications of 0.3.0 (its JSON objects) and 1.0 (its proto, as JSON) allow: nothing else.
const only = (fields: TProperties) => Type.Object(fields, { additionalProperties: false })
const text = Type.String()
const maybe = Type.Optional(text)
const flag = Type.Boolean()
const metadata = Type.Optional(Type.Record(text, Type.Unknown()))
const texts = Type.Optional(Type.Array(text))
const timestamp = Type.Optional(
  Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' })
)
const oneOf = (values: string[]) => Type.Union(values.map((value) => Type.Literal(value)))
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
    history: Type.Optional(Type.Array(message)),
    artifacts: Type.Optional(Type.Array(artifact)),
    metadata
  })
  const ids = { taskId: text, contextId: text, metadata }
  const statusUpdate = only({ ...kind('status-update'), ...ids, status, ...(kinds && { final: flag }) })
  const artifactUpdate = only({
    ...kind('artifact-update'),
    ...ids,
    artifact,
    append: Type.Optional(flag),
    lastChunk: Type.Optional(flag)
  })
  return { message, task, statusUpdate, artifactUpdate }
}

const legacyPart = Type.Union([
  only({ kind: Type.Literal('text'), text, metadata }),
  only({ kind: Type.Literal('data'), data: Type.Record(text, Type.Unknown()), metadata }),
  only({
    kind: Type.Literal('file'),
    file: Type.Union([
      only({ bytes: text, name: maybe, mimeType: maybe }),
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
  only({ raw: text, ...about }),
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
const currentPush = only({
  taskId: text,
  ...push,
  authentication: Type.Optional(only({ scheme: text, credentials: maybe }))
})

const legacyEvent = Type.Union([v03.task, v03.message, v03.statusUpdate, v03.artifactUpdate])
const event = Type.Union([
  only({ task: v10.task }),
  only({ message: v10.message }),
  only({ statusUpdate: v10.statusUpdate }),
  only({ artifactUpdate: v10.artifactUpdate })
])
const page = { nextPageToken: text, pageSize: Type.Integer(), totalSize: Type.Integer() }
const skill = only({
  id: text,
  name: text,
  description: text,
  tags: Type.Array(text),
  examples: texts,
  inputModes: texts,
  outputModes: texts
})
const cardFields = {
  name: text,
  description: text,
  version: text,
  provider: Type.Optional(only({ organization: text, url: text })),
  documentationUrl: maybe,
  iconUrl: maybe,
  defaultInputModes: Type.Array(text),
  defaultOutputModes: Type.Array(text),
  skills: Type.Array(skill)
}
const anyObject = Type.Record(text, Type.Unknown())

/** The card of 0.3. */
export const LegacyCardSchema = only({
  ...cardFields,
  protocolVersion: Type.Literal('0.3.0'),
  url: text,
  preferredTransport: text,
  additionalInterfaces: Type.Array(only({ url: text, transport: text })),
  capabilities: only({ streaming: flag, pushNotifications: flag, stateTransitionHistory: flag }),
  securitySchemes: Type.Optional(Type.Record(text, Type.Object({ type: text }))),
  security: Type.Optional(Type.Array(Type.Record(text, Type.Array(text)))),
  supportsAuthenticatedExtendedCard: flag
})

const member = (name: string) => only({ [name]: anyObject })
/** The card of 1.0. */
export const CardSchema = only({
  ...cardFields,
  supportedInterfaces: Type.Array(
    only({
      url: text,
      protocolBinding: oneOf(['JSONRPC', 'HTTP+JSON']),
      protocolVersion: text,
      tenant: maybe
    }),
    { minItems: 1 }
  ),
  capabilities: only({ streaming: flag, pushNotifications: flag, extendedAgentCard: flag }),
  securitySchemes: Type.Optional(
    Type.Record(
      text,
      Type.Union([
        member('httpAuthSecurityScheme'),
        member('apiKeySecurityScheme'),
        member('oauth2SecurityScheme'),
        member('openIdConnectSecurityScheme'),
        member('mtlsSecurityScheme')
      ])
    )
  ),
  securityRequirements: Type.Optional(
    Type.Array(only({ schemes: Type.Record(text, only({ list: Type.Array(text) })) }))
  )
})

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
  send: Type.Union([only({ task: v10.task }), only({ message: v10.message })]),
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

/** What does not fit. */
export function faultsOf(schema: TSchema, value: unknown): string[] {
  return [...Value.Errors(schema, value)].map(({ path, message }) => `${path} ${message}`)
}
