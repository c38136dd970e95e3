import { defined, type Redact, type RunChange, type StoredSchedule, type Stores } from '@svc/contract'
import type { AnswerSeal } from '../engine/inputs/answer-seal.ts'

/**
 * Wraps the stores of a run so that contents are stored without the caller's keys. Owners and names are stored unchanged, and so are
 * the parts of a log, which are redacted before. The bytes of files and the state of browsers are stored as they are.
 * @param seal other processes that share the stores cannot redact the answers that they store: they encrypt them for this one
 */
export function redactStores(stores: Stores, redact: Redact | undefined, seal?: AnswerSeal): Stores {
  if (redact === undefined) return stores
  const sealKey = stores.lease && seal?.publicKey
  const { runs, log, sessions, memory, checkpoints, tasks, control } = stores
  const { files, browserStates, remoteSessions, sessionIndex, counters, schedules, lease } = stores
  return {
    tasks,
    control,
    ...defined({ browserStates, remoteSessions, sessionIndex, counters }),
    ...(schedules && {
      schedules: override(schedules, {
        create: (schedule, maxPerOwner) => schedules.create(redactPlan(schedule, redact), maxPerOwner),
        change: (schedule, maxPerOwner) => schedules.change(redactPlan(schedule, redact), maxPerOwner)
      })
    }),
    ...(lease && { lease }),
    runs: override(runs, {
      recordStep: (runId, epoch, key, output) => runs.recordStep(runId, epoch, key, redact(output)),
      answerInput: (runId, inputId, answer) =>
        runs.answerInput(runId, inputId, redactFields(answer, ['reason', 'content'], redact)),
      replaceAnswer: (inputId, sealed, answer, key) =>
        runs.replaceAnswer(
          inputId,
          sealed,
          answer && redactFields(answer, ['reason', 'content'], redact),
          key
        )
    }),
    log: override(log, {
      append: (runId, epoch, entries, change, steps) =>
        log.append(
          runId,
          epoch,
          entries,
          change && redactInput(change, redact, sealKey),
          steps?.map((step) => redactFields(step, ['output'], redact))
        )
    }),
    sessions: override(sessions, {
      append: (key, turnId, messages, fence, from) =>
        sessions.append(key, turnId, redact(messages), fence, from)
    }),
    memory: override(memory, {
      put: (item, fence) => memory.put(redactFields(item, ['text', 'metadata'], redact), fence)
    }),
    checkpoints: override(checkpoints, {
      save: (runId, epoch, state) => checkpoints.save(runId, epoch, redact(state))
    }),
    ...(files && {
      files: override(files, {
        put: (runId, file, fence) =>
          files.put(runId, redactFields(file, ['mimeType', 'filename'], redact), fence)
      })
    })
  }
}

/** Returns a copy with some fields redacted. */
export function redactFields<T extends object>(value: T, names: readonly (keyof T)[], redact: Redact): T {
  const redacted = { ...value }
  for (const name of names) if (name in value) redacted[name] = redact(value[name])
  return redacted
}

function redactPlan(schedule: StoredSchedule, redact: Redact): StoredSchedule {
  return { ...schedule, plan: redactFields(schedule.plan, ['input', 'metadata'], redact) }
}

// The result and the error of a change are already redacted.
function redactInput(change: RunChange, redact: Redact, sealKey: string | undefined): RunChange {
  if (change.input === undefined) return change
  const input = redactFields(change.input, ['message', 'schema', 'toolCallId', 'args'], redact)
  return { ...change, input: sealKey === undefined ? input : { ...input, sealKey } }
}

/**
 * A store with some methods of its own. The others are called on the store itself, which may be a class with private fields.
 * @param own the methods that take the place of those of the store
 */
export function override<T extends object>(store: T, own: Partial<T>): T {
  return new Proxy(own as T, {
    get(_, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof T]
      const value: unknown = Reflect.get(store, name)
      return typeof value === 'function' ? (value.bind(store) as unknown) : value
    }
  })
}
