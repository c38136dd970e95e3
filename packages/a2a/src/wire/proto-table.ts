/** How often a field occurs: once, `[]` repeated, `{}` a map from string; once with presence if `?` or, as a member of the oneof, `|`. */
type Mark = '' | '[]' | '{}' | '?' | '|'

/** The number of a field, and its type: a scalar, an enum, a message, or one of the well-known Struct, Value and Timestamp. */
export type ProtoField = readonly [number: number, type: `${string}${Mark}`]

/** Messages by name, with their fields by JSON name. No message has more than one oneof. */
export type ProtoMessages = Readonly<Record<string, Readonly<Record<string, ProtoField>>>>

/** What a service sends over gRPC. */
export interface ProtoTable {
  /** The full name of the service. */
  readonly service: string
  /** The messages of the request and the response of each method. */
  readonly methods: Readonly<Record<string, readonly [request: string, response: string]>>
  readonly messages: ProtoMessages
  /** Names in the order of their numbers, from 0. */
  readonly enums: Readonly<Record<string, readonly string[]>>
}

const flow = { tokenUrl: [1, 'string'], refreshUrl: [2, 'string'], scopes: [3, 'string{}'] } as const

/** Messages that are the same in all versions. */
export const SHARED_MESSAGES = {
  Empty: {},
  Task: {
    id: [1, 'string'],
    contextId: [2, 'string'],
    status: [3, 'TaskStatus'],
    artifacts: [4, 'Artifact[]'],
    history: [5, 'Message[]'],
    metadata: [6, 'Struct']
  },
  TaskStatus: { state: [1, 'TaskState'], message: [2, 'Message'], timestamp: [3, 'Timestamp'] },
  TaskArtifactUpdateEvent: {
    taskId: [1, 'string'],
    contextId: [2, 'string'],
    artifact: [3, 'Artifact'],
    append: [4, 'bool'],
    lastChunk: [5, 'bool'],
    metadata: [6, 'Struct']
  },
  SendMessageResponse: { task: [1, 'Task|'], message: [2, 'Message|'] },
  StreamResponse: {
    task: [1, 'Task|'],
    message: [2, 'Message|'],
    statusUpdate: [3, 'TaskStatusUpdateEvent|'],
    artifactUpdate: [4, 'TaskArtifactUpdateEvent|']
  },
  AgentProvider: { url: [1, 'string'], organization: [2, 'string'] },
  AgentExtension: {
    uri: [1, 'string'],
    description: [2, 'string'],
    required: [3, 'bool'],
    params: [4, 'Struct']
  },
  AgentCardSignature: { protected: [1, 'string'], signature: [2, 'string'], header: [3, 'Struct'] },
  StringList: { list: [1, 'string[]'] },
  SecurityScheme: {
    apiKeySecurityScheme: [1, 'APIKeySecurityScheme|'],
    httpAuthSecurityScheme: [2, 'HTTPAuthSecurityScheme|'],
    oauth2SecurityScheme: [3, 'OAuth2SecurityScheme|'],
    openIdConnectSecurityScheme: [4, 'OpenIdConnectSecurityScheme|'],
    mtlsSecurityScheme: [5, 'MutualTlsSecurityScheme|']
  },
  APIKeySecurityScheme: { description: [1, 'string'], location: [2, 'string'], name: [3, 'string'] },
  HTTPAuthSecurityScheme: { description: [1, 'string'], scheme: [2, 'string'], bearerFormat: [3, 'string'] },
  OAuth2SecurityScheme: {
    description: [1, 'string'],
    flows: [2, 'OAuthFlows'],
    oauth2MetadataUrl: [3, 'string']
  },
  OpenIdConnectSecurityScheme: { description: [1, 'string'], openIdConnectUrl: [2, 'string'] },
  MutualTlsSecurityScheme: { description: [1, 'string'] },
  ClientCredentialsOAuthFlow: flow,
  ImplicitOAuthFlow: { authorizationUrl: [1, 'string'], refreshUrl: [2, 'string'], scopes: [3, 'string{}'] },
  PasswordOAuthFlow: flow
} as const satisfies ProtoMessages

export const ROLES = ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT']
