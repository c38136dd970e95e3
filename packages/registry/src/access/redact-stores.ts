import type { RunChange } from '../contract/ports/run-store.ts'
import type { Stores } from '../contract/ports/stores.ts'
import type { Redact } from '../contract/provider-key.ts'

/**
 * The stores of a run: what is said, asked for or done reaches them without the caller's keys. Whose it is and what it is
 * called stays as it is, and so do the parts of a log, which are redacted before.
 */
export function redactStores(stores: Stores, redact: Redact | undefined): Stores {
  if (redact === undefined) return stores
  const { runs, log, sessions, memory, checkpoints, tasks, control } = stores
  return {
    tasks,
    control,
    runs: override(runs, {
      recordStep: (runId, epoch, key, output) => runs.recordStep(runId, epoch, key, redact(output)),
      answerApproval: (runId, approvalId, answer) =>
        runs.answerApproval(runId, approvalId, redactFields(answer, ['reason', 'args'], redact))
    }),
    log: override(log, {
      append: (runId, epoch, entries, change) =>
        log.append(runId, epoch, entries, change && redactApproval(change, redact))
    }),
    sessions: override(sessions, {
      append: (key, turnId, messages) => sessions.append(key, turnId, redact(messages))
    }),
    memory: override(memory, {
      put: (item) => memory.put(redactFields(item, ['text', 'metadata'], redact))
    }),
    checkpoints: override(checkpoints, {
      save: (runId, epoch, state) => checkpoints.save(runId, epoch, redact(state))
    })
  }
}

/** The same, with some of its fields redacted. */
export function redactFields<T extends object>(value: T, names: readonly (keyof T)[], redact: Redact): T {
  const redacted = { ...value }
  for (const name of names) if (name in value) redacted[name] = redact(value[name])
  return redacted
}

// The result and the error of a change are made of what is redacted already.
function redactApproval(change: RunChange, redact: Redact): RunChange {
  const { approval } = change
  return approval === undefined
    ? change
    : { ...change, approval: redactFields(approval, ['toolCallId', 'args'], redact) }
}

// A store may be of a class, with fields of its own: it is asked as itself.
function override<T extends object>(store: T, own: Partial<T>): T {
  return new Proxy(own as T, {
    get(_, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof T]
      const value: unknown = Reflect.get(store, name)
      return typeof value === 'function' ? (value.bind(store) as unknown) : value
    }
  })
}
