import { ROLES, SHARED_MESSAGES, type ProtoTable } from '../proto-table.ts'
import { STATES } from '../states.ts'

const config = { tenant: [1, 'string'], taskId: [2, 'string'], id: [3, 'string'] } as const

/**
 * The messages of version 1.0 over gRPC.
 * @see https://github.com/a2aproject/A2A/blob/v1.0.1/specification/a2a.proto
 */
export const PROTO_V10: ProtoTable = {
  service: 'lf.a2a.v1.A2AService',
  methods: {
    SendMessage: ['SendMessageRequest', 'SendMessageResponse'],
    SendStreamingMessage: ['SendMessageRequest', 'StreamResponse'],
    GetTask: ['GetTaskRequest', 'Task'],
    ListTasks: ['ListTasksRequest', 'ListTasksResponse'],
    CancelTask: ['CancelTaskRequest', 'Task'],
    SubscribeToTask: ['SubscribeToTaskRequest', 'StreamResponse'],
    CreateTaskPushNotificationConfig: ['TaskPushNotificationConfig', 'TaskPushNotificationConfig'],
    GetTaskPushNotificationConfig: ['GetTaskPushNotificationConfigRequest', 'TaskPushNotificationConfig'],
    ListTaskPushNotificationConfigs: [
      'ListTaskPushNotificationConfigsRequest',
      'ListTaskPushNotificationConfigsResponse'
    ],
    DeleteTaskPushNotificationConfig: ['DeleteTaskPushNotificationConfigRequest', 'Empty'],
    GetExtendedAgentCard: ['GetExtendedAgentCardRequest', 'AgentCard']
  },
  enums: { Role: ROLES, TaskState: Object.values(STATES) },
  messages: {
    ...SHARED_MESSAGES,
    SendMessageRequest: {
      tenant: [1, 'string'],
      message: [2, 'Message'],
      configuration: [3, 'SendMessageConfiguration'],
      metadata: [4, 'Struct']
    },
    SendMessageConfiguration: {
      acceptedOutputModes: [1, 'string[]'],
      taskPushNotificationConfig: [2, 'TaskPushNotificationConfig'],
      historyLength: [3, 'int32?'],
      returnImmediately: [4, 'bool']
    },
    GetTaskRequest: { tenant: [1, 'string'], id: [2, 'string'], historyLength: [3, 'int32?'] },
    ListTasksRequest: {
      tenant: [1, 'string'],
      contextId: [2, 'string'],
      status: [3, 'TaskState'],
      pageSize: [4, 'int32?'],
      pageToken: [5, 'string'],
      historyLength: [6, 'int32?'],
      statusTimestampAfter: [7, 'Timestamp'],
      includeArtifacts: [8, 'bool?']
    },
    ListTasksResponse: {
      tasks: [1, 'Task[]'],
      nextPageToken: [2, 'string'],
      pageSize: [3, 'int32'],
      totalSize: [4, 'int32']
    },
    CancelTaskRequest: { tenant: [1, 'string'], id: [2, 'string'], metadata: [3, 'Struct'] },
    SubscribeToTaskRequest: { tenant: [1, 'string'], id: [2, 'string'] },
    GetTaskPushNotificationConfigRequest: config,
    DeleteTaskPushNotificationConfigRequest: config,
    ListTaskPushNotificationConfigsRequest: {
      taskId: [1, 'string'],
      pageSize: [2, 'int32'],
      pageToken: [3, 'string'],
      tenant: [4, 'string']
    },
    ListTaskPushNotificationConfigsResponse: {
      configs: [1, 'TaskPushNotificationConfig[]'],
      nextPageToken: [2, 'string']
    },
    GetExtendedAgentCardRequest: { tenant: [1, 'string'] },
    Message: {
      messageId: [1, 'string'],
      contextId: [2, 'string'],
      taskId: [3, 'string'],
      role: [4, 'Role'],
      parts: [5, 'Part[]'],
      metadata: [6, 'Struct'],
      extensions: [7, 'string[]'],
      referenceTaskIds: [8, 'string[]']
    },
    Part: {
      text: [1, 'string|'],
      raw: [2, 'bytes|'],
      url: [3, 'string|'],
      data: [4, 'Value|'],
      metadata: [5, 'Struct'],
      filename: [6, 'string'],
      mediaType: [7, 'string']
    },
    Artifact: {
      artifactId: [1, 'string'],
      name: [2, 'string'],
      description: [3, 'string'],
      parts: [4, 'Part[]'],
      metadata: [5, 'Struct'],
      extensions: [6, 'string[]']
    },
    TaskStatusUpdateEvent: {
      taskId: [1, 'string'],
      contextId: [2, 'string'],
      status: [3, 'TaskStatus'],
      metadata: [4, 'Struct']
    },
    TaskPushNotificationConfig: {
      tenant: [1, 'string'],
      id: [2, 'string'],
      taskId: [3, 'string'],
      url: [4, 'string'],
      token: [5, 'string'],
      authentication: [6, 'AuthenticationInfo']
    },
    AuthenticationInfo: { scheme: [1, 'string'], credentials: [2, 'string'] },
    AgentCard: {
      name: [1, 'string'],
      description: [2, 'string'],
      supportedInterfaces: [3, 'AgentInterface[]'],
      provider: [4, 'AgentProvider'],
      version: [5, 'string'],
      documentationUrl: [6, 'string?'],
      capabilities: [7, 'AgentCapabilities'],
      securitySchemes: [8, 'SecurityScheme{}'],
      securityRequirements: [9, 'SecurityRequirement[]'],
      defaultInputModes: [10, 'string[]'],
      defaultOutputModes: [11, 'string[]'],
      skills: [12, 'AgentSkill[]'],
      signatures: [13, 'AgentCardSignature[]'],
      iconUrl: [14, 'string?']
    },
    AgentInterface: {
      url: [1, 'string'],
      protocolBinding: [2, 'string'],
      tenant: [3, 'string'],
      protocolVersion: [4, 'string']
    },
    AgentCapabilities: {
      streaming: [1, 'bool?'],
      pushNotifications: [2, 'bool?'],
      extensions: [3, 'AgentExtension[]'],
      extendedAgentCard: [4, 'bool?']
    },
    AgentSkill: {
      id: [1, 'string'],
      name: [2, 'string'],
      description: [3, 'string'],
      tags: [4, 'string[]'],
      examples: [5, 'string[]'],
      inputModes: [6, 'string[]'],
      outputModes: [7, 'string[]'],
      securityRequirements: [8, 'SecurityRequirement[]']
    },
    SecurityRequirement: { schemes: [1, 'StringList{}'] },
    OAuthFlows: {
      authorizationCode: [1, 'AuthorizationCodeOAuthFlow|'],
      clientCredentials: [2, 'ClientCredentialsOAuthFlow|'],
      implicit: [3, 'ImplicitOAuthFlow|'],
      password: [4, 'PasswordOAuthFlow|'],
      deviceCode: [5, 'DeviceCodeOAuthFlow|']
    },
    AuthorizationCodeOAuthFlow: {
      authorizationUrl: [1, 'string'],
      tokenUrl: [2, 'string'],
      refreshUrl: [3, 'string'],
      scopes: [4, 'string{}'],
      pkceRequired: [5, 'bool']
    },
    DeviceCodeOAuthFlow: {
      deviceAuthorizationUrl: [1, 'string'],
      tokenUrl: [2, 'string'],
      refreshUrl: [3, 'string'],
      scopes: [4, 'string{}']
    }
  }
}
