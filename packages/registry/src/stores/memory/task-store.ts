import { formatRunCursor, parseRunCursor } from '../run-cursor.ts'
import type { OpenPush, StoredTask, TaskStore } from '../task-store.ts'
import { Fifo } from './fifo.ts'

/** Bounds of the task store in memory; the oldest task goes first. */
export interface MemoryTaskLimits {
  /** Default 10,000. */
  maxTasks?: number
  /** Characters of their messages, as JSON; default 67,108,864. */
  maxBytes?: number
}

type Push = Pick<OpenPush, 'config'> & { told: number | null }

// Messages are kept as JSON: nobody else's to change, and a copy costs nothing until it is asked for.
interface Entry {
  task: Omit<StoredTask, 'messages'>
  messages: string[]
  messageIds: string[]
  configs: Map<string, Push> | undefined
}

/** The A2A face of runs, in memory. */
export function createMemoryTaskStore(limits: MemoryTaskLimits = {}): TaskStore {
  const { maxTasks = 10_000, maxBytes = 67_108_864 } = limits
  const entries = new Map<string, Entry>()
  const taskOfMessage = new Map<string, string>()
  const oldest = new Fifo<Entry>()
  let bytes = 0

  const remove = (taskId: string) => {
    const entry = entries.get(taskId)
    if (entry === undefined) return
    for (const messageId of entry.messageIds) taskOfMessage.delete(messageKey(entry.task.owner, messageId))
    for (const message of entry.messages) bytes -= message.length
    entries.delete(taskId)
  }
  const add = (entry: Entry, messageId: string, messages: readonly unknown[]) => {
    taskOfMessage.set(messageKey(entry.task.owner, messageId), entry.task.taskId)
    entry.messageIds.push(messageId)
    for (const message of messages) {
      const json = JSON.stringify(message)
      bytes += json.length
      entry.messages.push(json)
    }
  }
  // What was removed before is passed over.
  const dropOldest = () => {
    for (let entry = oldest.peek(); entry !== undefined; entry = oldest.peek()) {
      const { taskId } = entry.task
      if (entries.get(taskId) === entry) {
        if (entries.size === 1 || (entries.size <= maxTasks && bytes <= maxBytes)) return
        remove(taskId)
      }
      oldest.shift()
    }
  }
  const select = (owner: string | undefined, contextId: string | undefined) =>
    Array.from(entries.values())
      .filter(
        ({ task }) =>
          (owner === undefined || task.owner === owner) &&
          (contextId === undefined || task.contextId === contextId)
      )
      .sort((a, b) => newestFirst(a.task, b.task))

  return {
    remove,
    create({ messages, ...task }, messageId) {
      const known = taskOfMessage.get(messageKey(task.owner, messageId))
      if (known !== undefined) return known
      const entry: Entry = { task, messages: [], messageIds: [], configs: undefined }
      entries.set(task.taskId, entry)
      oldest.push(entry)
      add(entry, messageId, messages)
      dropOldest()
      return task.taskId
    },
    get: (taskId) => toTask(entries.get(taskId)),
    addMessage(taskId, messageId, message) {
      const entry = entries.get(taskId)
      if (entry === undefined || taskOfMessage.has(messageKey(entry.task.owner, messageId))) return false
      add(entry, messageId, [message])
      dropOldest()
      return true
    },
    lastOfContext(owner, contextId) {
      let last: Entry | undefined
      for (const entry of entries.values()) {
        const { task } = entry
        if (task.owner !== owner || task.contextId !== contextId) continue
        if (last === undefined || newestFirst(task, last.task) < 0) last = entry
      }
      return toTask(last)
    },
    list({ owner, contextId, limit, cursor }) {
      const found = select(owner, contextId)
      const start = cursor === undefined ? undefined : parseRunCursor(cursor)
      const after = start && { createdAt: start.createdAt, taskId: start.runId }
      const rest = after ? found.filter(({ task }) => newestFirst(task, after) > 0) : found
      const tasks = rest.slice(0, limit).map((entry) => toTask(entry)!)
      const last = tasks.at(-1)
      const more = last !== undefined && rest.length > limit
      return {
        tasks,
        nextCursor: more ? formatRunCursor({ createdAt: last.createdAt, runId: last.taskId }) : null
      }
    },
    setPushConfig(taskId, config, told) {
      const entry = entries.get(taskId)
      if (entry === undefined) return false
      entry.configs ??= new Map()
      entry.configs.set(config.id, { config: structuredClone(config), told })
      return true
    },
    recordPush(taskId, configId, told) {
      const push = entries.get(taskId)?.configs?.get(configId)
      if (push === undefined) return false
      push.told = told
      return true
    },
    listOpenPushes() {
      const open: OpenPush[] = []
      for (const [taskId, { configs }] of entries)
        for (const { config, told } of configs?.values() ?? [])
          if (told !== null) open.push({ taskId, config: structuredClone(config), told })
      return open
    },
    listPushConfigs: (taskId) =>
      Array.from(entries.get(taskId)?.configs?.values() ?? [], ({ config }) => structuredClone(config)),
    removePushConfig: (taskId, configId) => entries.get(taskId)?.configs?.delete(configId) ?? false
  }
}

function toTask(entry: Entry | undefined): StoredTask | undefined {
  return entry && { ...entry.task, messages: entry.messages.map((json) => JSON.parse(json) as unknown) }
}

function messageKey(owner: string, messageId: string): string {
  return `${owner.length}:${owner}${messageId}`
}

type Position = Pick<StoredTask, 'createdAt' | 'taskId'>

function newestFirst(a: Position, b: Position): number {
  return b.createdAt - a.createdAt || (a.taskId < b.taskId ? 1 : a.taskId > b.taskId ? -1 : 0)
}
