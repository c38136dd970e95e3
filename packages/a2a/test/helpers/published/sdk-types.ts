import type * as v02 from 'a2a-sdk-v0.2'
import type * as v03 from 'a2a-sdk-v0.3'

// The official SDKs of 0.x have generated these types from the published JSON schemas: all that those say, and no more.

/** What is answered and asked in 0.2. */
export interface V02 {
  AgentCard: v02.AgentCard
  Task: v02.Task
  SendMessageRequest: v02.SendMessageRequest
  SendStreamingMessageRequest: v02.SendStreamingMessageRequest
  GetTaskRequest: v02.GetTaskRequest
  CancelTaskRequest: v02.CancelTaskRequest
  TaskResubscriptionRequest: v02.TaskResubscriptionRequest
  SendMessageSuccessResponse: v02.SendMessageSuccessResponse
  SendStreamingMessageSuccessResponse: v02.SendStreamingMessageSuccessResponse
  GetTaskSuccessResponse: v02.GetTaskSuccessResponse
  CancelTaskSuccessResponse: v02.CancelTaskSuccessResponse
  SetTaskPushNotificationConfigSuccessResponse: v02.SetTaskPushNotificationConfigSuccessResponse
  GetTaskPushNotificationConfigSuccessResponse: v02.GetTaskPushNotificationConfigSuccessResponse
  JSONRPCErrorResponse: v02.JSONRPCErrorResponse
}

/** What is answered and asked in 0.3. */
export interface V03 {
  AgentCard: v03.AgentCard
  Task: v03.Task
  SendMessageRequest: v03.SendMessageRequest
  SendStreamingMessageRequest: v03.SendStreamingMessageRequest
  GetTaskRequest: v03.GetTaskRequest
  CancelTaskRequest: v03.CancelTaskRequest
  TaskResubscriptionRequest: v03.TaskResubscriptionRequest
  SendMessageSuccessResponse: v03.SendMessageSuccessResponse
  SendStreamingMessageSuccessResponse: v03.SendStreamingMessageSuccessResponse
  GetTaskSuccessResponse: v03.GetTaskSuccessResponse
  CancelTaskSuccessResponse: v03.CancelTaskSuccessResponse
  SetTaskPushNotificationConfigSuccessResponse: v03.SetTaskPushNotificationConfigSuccessResponse
  GetTaskPushNotificationConfigSuccessResponse: v03.GetTaskPushNotificationConfigSuccessResponse
  ListTaskPushNotificationConfigSuccessResponse: v03.ListTaskPushNotificationConfigSuccessResponse
  DeleteTaskPushNotificationConfigSuccessResponse: v03.DeleteTaskPushNotificationConfigSuccessResponse
  GetAuthenticatedExtendedCardSuccessResponse: v03.GetAuthenticatedExtendedCardSuccessResponse
  JSONRPCErrorResponse: v03.JSONRPCErrorResponse
}
