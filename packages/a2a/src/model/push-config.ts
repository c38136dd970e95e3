/** Where the changes of a task are to be pushed to, and how the receiver knows that it is us. */
export interface TaskPushConfig {
  taskId: string
  id: string
  url: string
  token?: string
  authentication?: { schemes: string[]; credentials?: string }
}
