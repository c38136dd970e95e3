import { ROLES, SHARED_MESSAGES, type ProtoTable } from '../proto-table.ts'
import { STATES } from '../states.ts'

const name = { name: [1, 'string'] } as const

/**
 * The messages of version 0.3 over gRPC.
 * @see https://github.com/a2aproject/A2A/blob/v0.3.0/specification/grpc/a2a.proto
 */
export const PROTO_V03: ProtoTable = {
  service: 'a2a.v1.A2AService',
  methods: {
    SendMessage: ['SendMessageRequest', 'SendMessageResponse'],
    SendStreamingMessage: ['SendMessageRequest', 'StreamResponse'],
    GetTask: ['GetTaskRequest', 'Task'],
    CancelTask: ['CancelTaskRequest', 'Task'],
    TaskSubscription: ['TaskSubscriptionRequest', 'StreamResponse'],
    CreateTaskPushNotificationConfig: [
      'CreateTaskPushNotificationConfigRequest',
      'TaskPushNotificationConfig'
    ],
    GetTaskPushNotificationConfig: ['GetTaskPushNotificationConfigRequest', 'TaskPushNotificationConfig'],
    ListTaskPushNotificationConfig: [
      'ListTaskPushNotificationConfigRequest',
      'ListTaskPushNotificationConfigResponse'
    ],
    DeleteTaskPushNotificationConfig: ['DeleteTaskPushNotificationConfigRequest', 'Empty'],
    GetAgentCard: ['GetAgentCardRequest', 'AgentCard']
  },
  enums: {
    Role: ROLES,
    // This version writes one state with two l's.
    TaskState: Object.values({ ...STATES, canceled: 'TASK_STATE_CANCELLED' })
  },
  messages: {
    ...SHARED_MESSAGES,
    SendMessageRequest: {
      message: [1, 'Message'],
      configuration: [2, 'SendMessageConfiguration'],
      metadata: [3, 'Struct']
    },
    SendMessageConfiguration: {
      acceptedOutputModes: [1, 'string[]'],
      pushNotification: [2, 'PushNotificationConfig'],
      historyLength: [3, 'int32'],
      blocking: [4, 'bool']
    },
    GetTaskRequest: { name: [1, 'string'], historyLength: [2, 'int32'] },
    CancelTaskRequest: name,
    TaskSubscriptionRequest: name,
    GetTaskPushNotificationConfigRequest: name,
    DeleteTaskPushNotificationConfigRequest: name,
    CreateTaskPushNotificationConfigRequest: {
      parent: [1, 'string'],
      configId: [2, 'string'],
      config: [3, 'TaskPushNotificationConfig']
    },
    ListTaskPushNotificationConfigRequest: {
      parent: [1, 'string'],
      pageSize: [2, 'int32'],
      pageToken: [3, 'string']
    },
    ListTaskPushNotificationConfigResponse: {
      configs: [1, 'TaskPushNotificationConfig[]'],
      nextPageToken: [2, 'string']
    },
    GetAgentCardRequest: {},
    Message: {
      messageId: [1, 'string'],
      contextId: [2, 'string'],
      taskId: [3, 'string'],
      role: [4, 'Role'],
      content: [5, 'Part[]'],
      metadata: [6, 'Struct'],
      extensions: [7, 'string[]']
    },
    Part: { text: [1, 'string|'], file: [2, 'FilePart|'], data: [3, 'DataPart|'] },
    FilePart: { fileWithUri: [1, 'string|'], fileWithBytes: [2, 'bytes|'], mimeType: [3, 'string'] },
    DataPart: { data: [1, 'Struct'] },
    Artifact: {
      artifactId: [1, 'string'],
      name: [3, 'string'],
      description: [4, 'string'],
      parts: [5, 'Part[]'],
      metadata: [6, 'Struct'],
      extensions: [7, 'string[]']
    },
    TaskStatusUpdateEvent: {
      taskId: [1, 'string'],
      contextId: [2, 'string'],
      status: [3, 'TaskStatus'],
      final: [4, 'bool'],
      metadata: [5, 'Struct']
    },
    PushNotificationConfig: {
      id: [1, 'string'],
      url: [2, 'string'],
      token: [3, 'string'],
      authentication: [4, 'AuthenticationInfo']
    },
    AuthenticationInfo: { schemes: [1, 'string[]'], credentials: [2, 'string'] },
    TaskPushNotificationConfig: {
      name: [1, 'string'],
      pushNotificationConfig: [2, 'PushNotificationConfig']
    },
    AgentCard: {
      name: [1, 'string'],
      description: [2, 'string'],
      url: [3, 'string'],
      provider: [4, 'AgentProvider'],
      version: [5, 'string'],
      documentationUrl: [6, 'string'],
      capabilities: [7, 'AgentCapabilities'],
      securitySchemes: [8, 'SecurityScheme{}'],
      security: [9, 'Security[]'],
      defaultInputModes: [10, 'string[]'],
      defaultOutputModes: [11, 'string[]'],
      skills: [12, 'AgentSkill[]'],
      supportsAuthenticatedExtendedCard: [13, 'bool'],
      preferredTransport: [14, 'string'],
      additionalInterfaces: [15, 'AgentInterface[]'],
      protocolVersion: [16, 'string'],
      signatures: [17, 'AgentCardSignature[]']
    },
    AgentInterface: { url: [1, 'string'], transport: [2, 'string'] },
    AgentCapabilities: {
      streaming: [1, 'bool'],
      pushNotifications: [2, 'bool'],
      extensions: [3, 'AgentExtension[]']
    },
    AgentSkill: {
      id: [1, 'string'],
      name: [2, 'string'],
      description: [3, 'string'],
      tags: [4, 'string[]'],
      examples: [5, 'string[]'],
      inputModes: [6, 'string[]'],
      outputModes: [7, 'string[]'],
      security: [8, 'Security[]']
    },
    Security: { schemes: [1, 'StringList{}'] },
    OAuthFlows: {
      authorizationCode: [1, 'AuthorizationCodeOAuthFlow|'],
      clientCredentials: [2, 'ClientCredentialsOAuthFlow|'],
      implicit: [3, 'ImplicitOAuthFlow|'],
      password: [4, 'PasswordOAuthFlow|']
    },
    AuthorizationCodeOAuthFlow: {
      authorizationUrl: [1, 'string'],
      tokenUrl: [2, 'string'],
      refreshUrl: [3, 'string'],
      scopes: [4, 'string{}']
    }
  }
}

/** Names of resources are in the place of ids. */
export function toNames({ id, ...params }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return id === undefined ? params : { ...params, name: `tasks/${id as string}` }
}
