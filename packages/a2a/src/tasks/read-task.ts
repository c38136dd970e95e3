import {
  RunResultBuilder,
  type RunEngine,
  type RunResult,
  type StoredRun,
  type StoredTask
} from '@svc/registry'
import type { Message } from '../model/message.ts'
import type { Task } from '../model/task.ts'
import type { Surface } from '../surface.ts'
import { TaskEvents } from './task-events.ts'
import { taskFromRun, type TaskView } from './task-from-run.ts'

/** What the log of a run has said so far. */
interface SoFar {
  result: RunResultBuilder
  events: TaskEvents
  /** The `seq` of its last part. */
  lastSeq: number
}

/** Many small parts, or a large one, at a time. */
const PAGE = { entries: 512, bytes: 65_536 }

/** The task as it stands. `said` is what clients said to it, where that is known already. */
export async function readTask(
  surface: Pick<Surface, 'runs' | 'tasks'>,
  run: StoredRun,
  said?: readonly Message[],
  view?: TaskView
): Promise<Task> {
  const messages = view?.historyLength === 0 ? [] : (said ?? (await readSaid(surface, run.runId)))
  const needed = view?.includeArtifacts !== false || run.status === 'completed'
  const result = run.result ?? (needed ? await readResult(surface.runs, run) : undefined)
  return taskFromRun(run, messages, result, view)
}

// Of a log that is damaged there is none: other tasks may be in the same list.
async function readResult(runs: RunEngine, run: StoredRun): Promise<RunResult | undefined> {
  try {
    return (await readSoFar(runs, run)).result.build()
  } catch (err) {
    if ((err as { code?: unknown }).code !== 'RUN_ERR_DAMAGED') throw err
    return undefined
  }
}

/** What clients said to a task; nothing where it was started on another surface. */
export async function readSaid({ tasks }: Pick<Surface, 'tasks'>, taskId: string): Promise<Message[]> {
  const stored: StoredTask | undefined = await tasks.get(taskId)
  return (stored?.messages ?? []) as Message[]
}

/** The same of many tasks, by their ids, without those that were started on another surface. */
export async function readAllSaid(
  { tasks }: Pick<Surface, 'tasks'>,
  runs: readonly StoredRun[]
): Promise<Map<string, Message[]>> {
  const found = await tasks.getMany(runs.map(({ runId }) => runId))
  return new Map(found.map(({ taskId, messages }) => [taskId, messages as Message[]]))
}

/** Folds the log as far as it is written. */
export async function readSoFar({ stores }: RunEngine, run: StoredRun): Promise<SoFar> {
  const { runId, sessionId, createdAt } = run
  const events = new TaskEvents({ taskId: runId, contextId: sessionId, createdAt })
  const result = new RunResultBuilder()
  let lastSeq = 0
  for (;;) {
    const entries = await stores.log.read(runId, lastSeq, PAGE)
    if (entries.length === 0) return { result, events, lastSeq }
    for (const { part } of entries) {
      result.add(part)
      events.add(part)
    }
    lastSeq = entries.at(-1)!.seq
  }
}
