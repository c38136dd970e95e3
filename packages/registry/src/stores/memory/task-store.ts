import { formatRunCursor, parseRunCursor } from '../run-cursor.ts'
import type { PushConfig, StoredTask, TaskStore } from '../task-store.ts'

/** Bounds of the task store in memory. */
export interface MemoryTaskLimits {
  /** Tasks; the oldest goes first; default 10,000. */
  maxTasks?: number
}

interface Entry {
  task: StoredTask
  messageIds: string[]
  configs: Map<string, PushConfig>
}

/** The A2A face of runs, in memory. */
export function createMemoryTaskStore({ maxTasks = 10_000 }: MemoryTaskLimits = {}): TaskStore {
  const entries = new Map<string, Entry>()
  const taskOfMessage = new Map<string, string>()

  const remove = (taskId: string) => {
    const entry = entries.get(taskId)
    for (const messageId of entry?.messageIds ?? [])
      taskOfMessage.delete(messageKey(entry!.task.owner, messageId))
    entries.delete(taskId)
  }
  const all = () => [...entries.values()].map(({ task }) => task).sort(newestFirst)

  return {
    remove,
    create(task, messageId) {
      const key = messageKey(task.owner, messageId)
      const known = taskOfMessage.get(key)
      if (known !== undefined) return known
      taskOfMessage.set(key, task.taskId)
      entries.set(task.taskId, { task: structuredClone(task), messageIds: [messageId], configs: new Map() })
      if (entries.size > maxTasks) remove(entries.keys().next().value!)
      return task.taskId
    },
    get: (taskId) => structuredClone(entries.get(taskId)?.task),
    addMessage(taskId, messageId, message) {
      const entry = entries.get(taskId)
      if (entry === undefined || taskOfMessage.has(messageKey(entry.task.owner, messageId))) return false
      taskOfMessage.set(messageKey(entry.task.owner, messageId), taskId)
      entry.messageIds.push(messageId)
      entry.task = { ...entry.task, messages: [...entry.task.messages, structuredClone(message)] }
      return true
    },
    lastOfContext: (owner, contextId) =>
      structuredClone(all().find((task) => task.owner === owner && task.contextId === contextId)),
    list({ owner, contextId, limit, cursor }) {
      const found = all().filter(
        (task) =>
          (owner === undefined || task.owner === owner) &&
          (contextId === undefined || task.contextId === contextId)
      )
      const start = cursor === undefined ? undefined : parseRunCursor(cursor)
      const rest = start
        ? found.filter((task) => newestFirst(task, { createdAt: start.createdAt, taskId: start.runId }) > 0)
        : found
      const tasks = rest.slice(0, limit)
      const last = tasks.at(-1)
      const more = last !== undefined && rest.length > limit
      return {
        tasks: structuredClone(tasks),
        nextCursor: more ? formatRunCursor({ createdAt: last.createdAt, runId: last.taskId }) : null
      }
    },
    setPushConfig(taskId, config) {
      entries.get(taskId)?.configs.set(config.id, structuredClone(config))
      return entries.has(taskId)
    },
    listPushConfigs: (taskId) => structuredClone([...(entries.get(taskId)?.configs.values() ?? [])]),
    removePushConfig: (taskId, configId) => entries.get(taskId)?.configs.delete(configId) ?? false
  }
}

function messageKey(owner: string, messageId: string): string {
  return JSON.stringify([owner, messageId])
}

type Position = Pick<StoredTask, 'createdAt' | 'taskId'>

function newestFirst(a: Position, b: Position): number {
  return b.createdAt - a.createdAt || (a.taskId < b.taskId ? 1 : a.taskId > b.taskId ? -1 : 0)
}
