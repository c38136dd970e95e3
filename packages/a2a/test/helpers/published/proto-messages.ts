/** How often a field may be there. */
type Mark = '' | '!' | '[]' | '[]!' | '[]+' | '{}' | '{}!' | '|'

/** A scalar, a well-known type of protobuf, an enum or a message. */
type FieldType =
  | 'string'
  | 'bool'
  | 'int32'
  | 'bytes'
  | 'Struct'
  | 'Value'
  | 'Timestamp'
  | keyof typeof ENUMS
  | (string & {})

/** The enums of `lf.a2a.v1`, without what stands for unset. */
export const ENUMS = {
  Role: ['ROLE_USER', 'ROLE_AGENT'],
  TaskState: [
    'TASK_STATE_SUBMITTED',
    'TASK_STATE_WORKING',
    'TASK_STATE_COMPLETED',
    'TASK_STATE_FAILED',
    'TASK_STATE_CANCELED',
    'TASK_STATE_INPUT_REQUIRED',
    'TASK_STATE_REJECTED',
    'TASK_STATE_AUTH_REQUIRED'
  ]
} as const

const flow = { refreshUrl: 'string' } as const
const task = { tenant: 'string', id: 'string!' } as const
const config = { tenant: 'string', taskId: 'string!' } as const

/**
 * The messages of `lf.a2a.v1`, the proto of A2A 1.0: the JSON name and the type of each field. Behind the type: `!` required,
 * `[]` repeated (`[]+` not empty), `{}` a map from string, `|` one of a `oneof`. `wire/published-messages.test.ts` holds them
 * against the code that the official SDK has generated from the proto.
 */
export const MESSAGES = {
  SendMessageRequest: {
    tenant: 'string',
    message: 'Message!',
    configuration: 'SendMessageConfiguration',
    metadata: 'Struct'
  },
  SendMessageConfiguration: {
    acceptedOutputModes: 'string[]',
    taskPushNotificationConfig: 'TaskPushNotificationConfig',
    historyLength: 'int32',
    returnImmediately: 'bool'
  },
  GetTaskRequest: { ...task, historyLength: 'int32' },
  ListTasksRequest: {
    tenant: 'string',
    contextId: 'string',
    status: 'TaskState',
    pageSize: 'int32',
    pageToken: 'string',
    historyLength: 'int32',
    statusTimestampAfter: 'Timestamp',
    includeArtifacts: 'bool'
  },
  CancelTaskRequest: { ...task, metadata: 'Struct' },
  SubscribeToTaskRequest: task,
  GetTaskPushNotificationConfigRequest: { ...config, id: 'string!' },
  DeleteTaskPushNotificationConfigRequest: { ...config, id: 'string!' },
  ListTaskPushNotificationConfigsRequest: { ...config, pageSize: 'int32', pageToken: 'string' },
  GetExtendedAgentCardRequest: { tenant: 'string' },

  SendMessageResponse: { task: 'Task|', message: 'Message|' },
  StreamResponse: {
    task: 'Task|',
    message: 'Message|',
    statusUpdate: 'TaskStatusUpdateEvent|',
    artifactUpdate: 'TaskArtifactUpdateEvent|'
  },
  ListTasksResponse: {
    tasks: 'Task[]!',
    nextPageToken: 'string!',
    pageSize: 'int32!',
    totalSize: 'int32!'
  },
  ListTaskPushNotificationConfigsResponse: {
    configs: 'TaskPushNotificationConfig[]',
    nextPageToken: 'string'
  },

  Task: {
    id: 'string!',
    contextId: 'string',
    status: 'TaskStatus!',
    artifacts: 'Artifact[]',
    history: 'Message[]',
    metadata: 'Struct'
  },
  TaskStatus: { state: 'TaskState!', message: 'Message', timestamp: 'Timestamp' },
  TaskStatusUpdateEvent: {
    taskId: 'string!',
    contextId: 'string!',
    status: 'TaskStatus!',
    metadata: 'Struct'
  },
  TaskArtifactUpdateEvent: {
    taskId: 'string!',
    contextId: 'string!',
    artifact: 'Artifact!',
    append: 'bool',
    lastChunk: 'bool',
    metadata: 'Struct'
  },
  TaskPushNotificationConfig: {
    tenant: 'string',
    id: 'string',
    taskId: 'string',
    url: 'string!',
    token: 'string',
    authentication: 'AuthenticationInfo'
  },
  AuthenticationInfo: { scheme: 'string!', credentials: 'string' },
  Message: {
    messageId: 'string!',
    contextId: 'string',
    taskId: 'string',
    role: 'Role!',
    parts: 'Part[]+',
    metadata: 'Struct',
    extensions: 'string[]',
    referenceTaskIds: 'string[]'
  },
  Artifact: {
    artifactId: 'string!',
    name: 'string',
    description: 'string',
    parts: 'Part[]+',
    metadata: 'Struct',
    extensions: 'string[]'
  },
  Part: {
    text: 'string|',
    raw: 'bytes|',
    url: 'string|',
    data: 'Value|',
    metadata: 'Struct',
    filename: 'string',
    mediaType: 'string'
  },

  AgentCard: {
    name: 'string!',
    description: 'string!',
    supportedInterfaces: 'AgentInterface[]+',
    provider: 'AgentProvider',
    version: 'string!',
    documentationUrl: 'string',
    capabilities: 'AgentCapabilities!',
    securitySchemes: 'SecurityScheme{}',
    securityRequirements: 'SecurityRequirement[]',
    defaultInputModes: 'string[]!',
    defaultOutputModes: 'string[]!',
    skills: 'AgentSkill[]!',
    signatures: 'AgentCardSignature[]',
    iconUrl: 'string'
  },
  AgentInterface: {
    url: 'string!',
    protocolBinding: 'string!',
    tenant: 'string',
    protocolVersion: 'string!'
  },
  AgentProvider: { url: 'string!', organization: 'string!' },
  AgentCapabilities: {
    streaming: 'bool',
    pushNotifications: 'bool',
    extensions: 'AgentExtension[]',
    extendedAgentCard: 'bool'
  },
  AgentExtension: { uri: 'string', description: 'string', required: 'bool', params: 'Struct' },
  AgentSkill: {
    id: 'string!',
    name: 'string!',
    description: 'string!',
    tags: 'string[]!',
    examples: 'string[]',
    inputModes: 'string[]',
    outputModes: 'string[]',
    securityRequirements: 'SecurityRequirement[]'
  },
  AgentCardSignature: { protected: 'string!', signature: 'string!', header: 'Struct' },

  SecurityRequirement: { schemes: 'StringList{}' },
  StringList: { list: 'string[]' },
  SecurityScheme: {
    apiKeySecurityScheme: 'APIKeySecurityScheme|',
    httpAuthSecurityScheme: 'HTTPAuthSecurityScheme|',
    oauth2SecurityScheme: 'OAuth2SecurityScheme|',
    openIdConnectSecurityScheme: 'OpenIdConnectSecurityScheme|',
    mtlsSecurityScheme: 'MutualTlsSecurityScheme|'
  },
  APIKeySecurityScheme: { description: 'string', location: 'string!', name: 'string!' },
  HTTPAuthSecurityScheme: { description: 'string', scheme: 'string!', bearerFormat: 'string' },
  OAuth2SecurityScheme: { description: 'string', flows: 'OAuthFlows!', oauth2MetadataUrl: 'string' },
  OpenIdConnectSecurityScheme: { description: 'string', openIdConnectUrl: 'string!' },
  MutualTlsSecurityScheme: { description: 'string' },
  OAuthFlows: {
    authorizationCode: 'AuthorizationCodeOAuthFlow|',
    clientCredentials: 'ClientCredentialsOAuthFlow|',
    implicit: 'ImplicitOAuthFlow|',
    password: 'PasswordOAuthFlow|',
    deviceCode: 'DeviceCodeOAuthFlow|'
  },
  AuthorizationCodeOAuthFlow: {
    ...flow,
    authorizationUrl: 'string!',
    tokenUrl: 'string!',
    scopes: 'string{}!',
    pkceRequired: 'bool'
  },
  ClientCredentialsOAuthFlow: { ...flow, tokenUrl: 'string!', scopes: 'string{}!' },
  ImplicitOAuthFlow: { ...flow, authorizationUrl: 'string', scopes: 'string{}' },
  PasswordOAuthFlow: { ...flow, tokenUrl: 'string', scopes: 'string{}' },
  DeviceCodeOAuthFlow: {
    ...flow,
    deviceAuthorizationUrl: 'string!',
    tokenUrl: 'string!',
    scopes: 'string{}!'
  }
} as const satisfies Readonly<Record<string, Readonly<Record<string, `${FieldType}${Mark}`>>>>

/** A field, its mark read. */
export interface Field {
  type: string
  isRequired: boolean
  isRepeated: boolean
  isMap: boolean
  isOneOf: boolean
  /** How many a repeated one has at least. */
  least: 0 | 1
}

/** The fields of a message, by their JSON names. */
export function fieldsOf(message: keyof typeof MESSAGES): [name: string, field: Field][] {
  return Object.entries(MESSAGES[message]).map(([name, written]) => {
    const [, type, mark] = /^(\w+)(.*)$/.exec(written) as unknown as [string, string, Mark]
    return [
      name,
      {
        type,
        isRequired: /[!+]/.test(mark),
        isRepeated: mark.startsWith('[]'),
        isMap: mark.startsWith('{}'),
        isOneOf: mark === '|',
        least: mark === '[]+' ? 1 : 0
      }
    ]
  })
}
