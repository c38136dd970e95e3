import type { RunEngine } from '@svc/registry'

/** Fires a schedule at once, as if its next instant were now, and resolves when its run is in the queue. */
export async function fireSchedule({ stores, schedules }: RunEngine, scheduleId: string): Promise<void> {
  const stored = (await stores.schedules!.get(scheduleId))!
  const { plan, revision } = stored
  const nextAt = Date.now() - 1
  const due = { ...stored, plan: plan.at === null ? plan : { ...plan, at: nextAt }, nextAt }
  await stores.schedules!.change({ ...due, revision: revision + 1 }, Infinity)
  // A change has the engine look for what is due.
  await schedules.update(scheduleId, {})
  await schedules.idle()
}
