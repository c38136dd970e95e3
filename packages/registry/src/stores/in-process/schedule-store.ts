import {
  runnableKeyText,
  type RunnableKey,
  type RunQueue,
  type ScheduleStore,
  type StoredSchedule
} from '@svc/contract'
import { RUN_ERR_TOO_MANY_SCHEDULES } from '@svc/contract/errors'
import { pageOf, parseRunCursor, type RunPosition } from '@svc/contract/stores'

// Schedules of all owners, and characters of their JSON.
const MAX_SCHEDULES = 10_000
const MAX_LENGTH = 67_108_864

/**
 * Schedules in process memory, and the queue that gets their runs.
 * @param retention how many milliseconds those stay whose only instant is over
 */
export function createInProcessScheduleStore(
  queue: RunQueue,
  { maxAge }: { readonly maxAge: number }
): ScheduleStore {
  const schedules = new Map<string, StoredSchedule>()
  const lengths = new Map<string, number>()
  let length = 0

  function put(schedule: StoredSchedule): void {
    const { scheduleId } = schedule
    const next = JSON.stringify(schedule.plan).length
    const total = length - (lengths.get(scheduleId) ?? 0) + next
    if (total > MAX_LENGTH) throw new RUN_ERR_TOO_MANY_SCHEDULES()
    length = total
    lengths.set(scheduleId, next)
    schedules.set(scheduleId, structuredClone(schedule))
  }

  function remove(scheduleId: string): boolean {
    length -= lengths.get(scheduleId) ?? 0
    lengths.delete(scheduleId)
    return schedules.delete(scheduleId)
  }

  function requirePlace(owner: string, maxPerOwner: number): void {
    let count = 0
    for (const each of schedules.values()) if (each.owner === owner && each.endedAt === null) count++
    if (count >= maxPerOwner) throw new RUN_ERR_TOO_MANY_SCHEDULES()
  }

  function* planned(runnables: readonly RunnableKey[]): Iterable<StoredSchedule & { nextAt: number }> {
    const known = new Set(runnables.map(runnableKeyText))
    for (const schedule of schedules.values()) {
      const { nextAt } = schedule
      if (nextAt !== null && known.has(runnableKeyText(schedule))) yield { ...schedule, nextAt }
    }
  }

  return {
    create(schedule, maxPerOwner) {
      requirePlace(schedule.owner, maxPerOwner)
      if (schedules.size >= MAX_SCHEDULES) throw new RUN_ERR_TOO_MANY_SCHEDULES()
      put(schedule)
    },
    get(scheduleId) {
      const found = schedules.get(scheduleId)
      return found && structuredClone(found)
    },
    list({ owner, limit, cursor }) {
      const after = cursor === undefined ? undefined : parseRunCursor(cursor)
      const found = [...schedules.values()]
        .filter((each) => (owner === undefined || each.owner === owner) && isAfter(each, after))
        .sort(byNewest)
      const { page, nextCursor } = pageOf(found, limit, ({ createdAt, scheduleId }) => ({
        at: createdAt,
        runId: scheduleId
      }))
      return { schedules: structuredClone(page), nextCursor }
    },
    change(schedule, maxPerOwner) {
      const earlier = schedules.get(schedule.scheduleId)
      if (earlier?.revision !== schedule.revision - 1) return false
      if (earlier.endedAt !== null && schedule.endedAt === null) requirePlace(schedule.owner, maxPerOwner)
      put(schedule)
      return true
    },
    remove,
    nextAt(runnables) {
      let next: number | undefined
      for (const { nextAt } of planned(runnables)) if (next === undefined || nextAt < next) next = nextAt
      return next
    },
    listDue({ runnables, now, limit }) {
      const due = [...planned(runnables)].filter(({ nextAt }) => nextAt <= now)
      return structuredClone(due.sort((a, b) => a.nextAt - b.nextAt).slice(0, limit))
    },
    fire({ scheduleId, nextAt, revision }, state, start) {
      const current = schedules.get(scheduleId)
      if (current?.nextAt !== nextAt || current.revision !== revision) return false
      // Synchronous in memory, so that nothing comes between the two.
      if (start !== undefined) void queue.add(start.run, start.first, start.checkpoint)
      schedules.set(scheduleId, { ...current, ...state, revision: revision + 1 })
      return true
    },
    markOverdue(before, code) {
      for (const schedule of schedules.values())
        if (schedule.nextAt !== null && schedule.nextAt < before)
          schedules.set(schedule.scheduleId, { ...schedule, lastError: code })
    },
    sweep(now) {
      let removed = 0
      for (const { scheduleId, endedAt } of schedules.values())
        if (endedAt !== null && endedAt + maxAge <= now && remove(scheduleId)) removed++
      return removed
    }
  }
}

function isAfter({ createdAt, scheduleId }: StoredSchedule, position: RunPosition | undefined): boolean {
  if (position === undefined || createdAt < position.at) return true
  return createdAt === position.at && scheduleId < position.runId
}

function byNewest(a: StoredSchedule, b: StoredSchedule): number {
  return b.createdAt - a.createdAt || (a.scheduleId < b.scheduleId ? 1 : -1)
}
