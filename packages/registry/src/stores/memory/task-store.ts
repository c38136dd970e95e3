import { REG_ERR_BAD_CURSOR } from '../../errors.ts'
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
  const newestFirst = () =>
    [...entries.values()]
      .map(({ task }) => task)
      .sort((a, b) => b.createdAt - a.createdAt || (a.taskId < b.taskId ? 1 : -1))

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
      structuredClone(newestFirst().find((task) => task.owner === owner && task.contextId === contextId)),
    list({ owner, contextId, limit, cursor }) {
      const found = newestFirst().filter(
        (task) =>
          (owner === undefined || task.owner === owner) &&
          (contextId === undefined || task.contextId === contextId)
      )
      const after = cursor === undefined ? -1 : found.findIndex((task) => task.taskId === cursor)
      if (cursor !== undefined && after === -1) throw new REG_ERR_BAD_CURSOR()
      const tasks = found.slice(after + 1, after + 1 + limit)
      const more = after + 1 + tasks.length < found.length
      return { tasks: structuredClone(tasks), nextCursor: more ? tasks.at(-1)!.taskId : null }
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
