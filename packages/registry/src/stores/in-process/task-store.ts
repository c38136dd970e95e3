import { formatRunCursor, parseRunCursor, PassingMap, type Slot } from '@svc/contract/stores'
import type { OpenPush, StoredTask, TaskStore } from '@svc/contract'
import { AgingMap } from './aging-map.ts'

/** How much is kept of tasks; the oldest go first. */
export interface TaskRetention {
  maxTasks: number
  /** Characters of their messages and push configurations, as JSON. */
  taskMaxBytes: number
  /** True while a task's run is in progress: the task stays unless there are too many bytes. */
  isLive(taskId: string): boolean
}

type Push = Pick<OpenPush, 'config'> & { size: number; pushed: number | null; isClaimed: boolean }

// Messages are kept as JSON, so that callers cannot mutate them and copies are made on demand only.
interface Entry {
  task: Omit<StoredTask, 'messages'>
  messages: string[]
  // Where the ids of its messages stand.
  slots: Slot<Entry>[]
  configs: Map<string, Push>
}

// Most tasks have no configurations.
const NONE: Map<string, Push> = new Map()

/** The A2A side of runs, in process memory. */
export function createInProcessTaskStore({ maxTasks, taskMaxBytes, isLive }: TaskRetention): TaskStore {
  const entries = new AgingMap<Entry>({
    maxSize: maxTasks,
    maxWeight: taskMaxBytes,
    weigh: bytesOf,
    keeps: ({ task }) => isLive(task.taskId),
    onDrop: (dropped) => {
      for (const entry of dropped) forgetMessages(entry)
    }
  })
  const byMessage = new PassingMap<string, Entry>()
  // The tasks that may have open pushes.
  const pushing = new Set<string>()

  const forgetMessages = ({ slots }: Entry) => {
    for (const slot of slots) byMessage.leave(slot)
  }
  const remove = (taskId: string) => {
    const entry = entries.remove(taskId)
    if (entry !== undefined) forgetMessages(entry)
  }
  const findByMessage = (key: string) => byMessage.get(key)?.task.taskId
  // Added again, since its weight changes and it becomes one of the newest.
  const change = (taskId: string, apply: (entry: Entry) => boolean) => {
    const entry = entries.remove(taskId)
    if (entry === undefined) return false
    const isChanged = apply(entry)
    entries.add(taskId, entry)
    return isChanged
  }
  const openTasks = function* () {
    for (const taskId of pushing) {
      const entry = entries.get(taskId)
      if (entry !== undefined && [...entry.configs.values()].some(({ pushed }) => pushed !== null))
        yield entry
      else pushing.delete(taskId)
    }
  }
  const findHeld = (taskId: string, configId: string) => {
    const push = entries.get(taskId)?.configs.get(configId)
    return push !== undefined && push.pushed !== null && push.isClaimed ? push : undefined
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
    create({ taskId, contextId, registry, owner, agentName, createdAt, messages }, messageId) {
      const key = messageKey({ registry, owner }, messageId)
      const known = findByMessage(key)
      if (known !== undefined) return known
      const entry: Entry = {
        task: { taskId, contextId, registry, owner, agentName, createdAt },
        messages: messages.map((message) => JSON.stringify(message)),
        slots: [],
        configs: NONE
      }
      entry.slots.push(byMessage.add(key, entry))
      entries.add(taskId, entry)
      return taskId
    },
    get: (taskId) => toTask(entries.get(taskId)),
    taskOfMessage: (registry, owner, messageId) => findByMessage(messageKey({ registry, owner }, messageId)),
    addMessage(taskId, messageId, message) {
      const task = entries.get(taskId)?.task
      if (task === undefined) return false
      const key = messageKey(task, messageId)
      if (findByMessage(key) !== undefined) return false
      return change(taskId, (entry) => {
        entry.messages.push(JSON.stringify(message))
        entry.slots.push(byMessage.add(key, entry))
        return true
      })
    },
    lastOfContext(registries, owner, contextId) {
      let last: Entry | undefined
      for (const entry of entries.values()) {
        const { task } = entry
        if (task.owner !== owner || task.contextId !== contextId) continue
        if (!registries.includes(task.registry)) continue
        if (last === undefined || newestFirst(task, last.task) < 0) last = entry
      }
      return toTask(last)
    },
    list({ owner, contextId, limit, cursor }) {
      const found = select(owner, contextId)
      const start = cursor === undefined ? undefined : parseRunCursor(cursor)
      const after = start && { createdAt: start.at, taskId: start.runId }
      const rest = after ? found.filter(({ task }) => newestFirst(task, after) > 0) : found
      const tasks = rest.slice(0, limit).map((entry) => toTask(entry)!)
      const last = tasks.at(-1)
      const more = last !== undefined && rest.length > limit
      return {
        tasks,
        nextCursor: more ? formatRunCursor({ at: last.createdAt, runId: last.taskId }) : null
      }
    },
    setPushConfig(taskId, config, pushed, maxPerTask = Infinity) {
      const configs = entries.get(taskId)?.configs
      if (configs === undefined) return 'unknown'
      if (!configs.has(config.id) && configs.size >= maxPerTask) return 'full'
      change(taskId, (entry) => {
        const size = JSON.stringify(config).length
        const push = { config: structuredClone(config), size, pushed, isClaimed: true }
        entry.configs = new Map(entry.configs).set(config.id, push)
        return true
      })
      if (pushed !== null) pushing.add(taskId)
      return 'stored'
    },
    claimPushes(claim) {
      const claimed: OpenPush[] = []
      let tasks = 0
      for (const { task, configs } of openTasks()) {
        const before = claimed.length
        for (const push of configs.values()) {
          const { config, pushed, isClaimed } = push
          if (pushed === null || isClaimed || config.endpoint !== claim.endpoint) continue
          push.isClaimed = true
          claimed.push({ taskId: task.taskId, config: structuredClone(config), pushed })
        }
        if (claimed.length > before && ++tasks === claim.maxTasks) break
      }
      return claimed
    },
    releasePushes(endpoint) {
      for (const { configs } of openTasks())
        for (const push of configs.values()) if (push.config.endpoint === endpoint) push.isClaimed = false
    },
    holdsPush: (taskId, configId) => findHeld(taskId, configId) !== undefined,
    recordPush(taskId, configId, pushed) {
      const push = findHeld(taskId, configId)
      if (push === undefined) return false
      push.pushed = pushed
      return true
    },
    countOpenPushes(owner) {
      let count = 0
      for (const { task, configs } of openTasks())
        if (task.owner === owner) for (const { pushed } of configs.values()) if (pushed !== null) count++
      return count
    },
    listPushConfigs: (taskId) =>
      Array.from(entries.get(taskId)?.configs.values() ?? [], ({ config }) => structuredClone(config)),
    removePushConfig: (taskId, configId) => change(taskId, ({ configs }) => configs.delete(configId)),
    remove
  }
}

function bytesOf({ messages, configs }: Entry): number {
  let bytes = 0
  for (const message of messages) bytes += message.length
  for (const { size } of configs.values()) bytes += size
  return bytes
}

function toTask(entry: Entry | undefined): StoredTask | undefined {
  return entry && { ...entry.task, messages: entry.messages.map((json) => JSON.parse(json) as unknown) }
}

function messageKey({ registry, owner }: Pick<StoredTask, 'registry' | 'owner'>, messageId: string): string {
  return `${registry}/${owner.length}:${owner}${messageId}`
}

type Position = Pick<StoredTask, 'createdAt' | 'taskId'>

function newestFirst(a: Position, b: Position): number {
  return b.createdAt - a.createdAt || (a.taskId < b.taskId ? 1 : a.taskId > b.taskId ? -1 : 0)
}
