import type { Artifact } from './artifact.ts'
import type { Message } from './message.ts'
import type { Task, TaskStatus } from './task.ts'

interface OfTask {
  taskId: string
  contextId: string
}

/** What a stream tells: the task first, then its changes. */
export type TaskEvent =
  | { type: 'task'; task: Task }
  | { type: 'message'; message: Message }
  | (OfTask & { type: 'status'; status: TaskStatus })
  | (OfTask & { type: 'artifact'; artifact: Artifact; append: boolean; lastChunk: boolean })
