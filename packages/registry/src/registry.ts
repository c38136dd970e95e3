import { inspect } from 'node:util'
import {
  GLOBAL_REGISTRY,
  requireOptions,
  RUNNABLE_KINDS,
  type Runnable,
  type RunnableDefinition,
  type RunnableKind
} from '@svc/contract'
import { REG_ERR_NAME_TAKEN } from '@svc/contract/errors'
import { RegistryOptionsSchema, type RegistryOptions } from './options.ts'
import { defineRunnable } from './runnables/define-runnable.ts'

/** A change of a registry. */
export interface RegistryChange {
  type: 'add' | 'remove' | 'replace'
  runnable: Runnable
}

/** The list of runnables, by kind and exact name. Entries are held until they are removed. */
export interface Registry {
  /** Part of the key of every run, session and memory of its runnables. */
  readonly id: string
  /**
   * Adds and returns a runnable; a plain definition is converted to one.
   * @throws REG_ERR_BAD_NAME, REG_ERR_BAD_KIND, REG_ERR_BAD_RUNNABLE, REG_ERR_NAME_TAKEN (unless `replace` is true),
   * REG_ERR_ID_SHARED, and whatever a `guard` check throws
   */
  add(runnable: Runnable | RunnableDefinition, options?: { replace?: boolean | undefined }): Runnable
  get(kind: RunnableKind, name: string): Runnable | undefined
  /** Lists one kind, or all, in the order of addition. */
  list(kind?: RunnableKind): Runnable[]
  /** True if it was registered. */
  remove(kind: RunnableKind, name: string): boolean
  /** Calls the listener after each change until the returned function is called. Errors of listeners affect nothing else. */
  on(event: 'change', listener: (change: RegistryChange) => unknown): () => void
  /**
   * Calls the check before each runnable is added, until the returned function is called; if it throws, `add` rethrows and changes
   * nothing.
   */
  guard(check: (runnable: Runnable) => void): () => void
}

/** Creates an empty registry. @throws REG_ERR_BAD_OPTION */
export function createRegistry(options: RegistryOptions = {}): Registry {
  requireOptions(RegistryOptionsSchema, options)
  const byKind = new Map(RUNNABLE_KINDS.map((kind) => [kind, new Map<string, Runnable>()]))
  const listeners = new Set<(change: RegistryChange) => Promise<void>>()
  const checks = new Set<(runnable: Runnable) => void>()
  const notify = (change: RegistryChange) => {
    for (const listener of Array.from(listeners)) void listener(change)
  }

  return {
    id: options.id ?? GLOBAL_REGISTRY,
    add(definition, { replace = false } = {}) {
      const runnable = defineRunnable(definition)
      const names = byKind.get(runnable.kind)!
      const taken = names.has(runnable.name)
      if (taken && !replace) throw new REG_ERR_NAME_TAKEN(runnable.kind, runnable.name)
      for (const check of checks) check(runnable)
      names.set(runnable.name, runnable)
      notify({ type: taken ? 'replace' : 'add', runnable })
      return runnable
    },
    get: (kind, name) => byKind.get(kind)?.get(name),
    list(kind) {
      const all: Runnable[] = []
      for (const each of kind ? [kind] : RUNNABLE_KINDS) all.push(...(byKind.get(each)?.values() ?? []))
      return all
    },
    remove(kind, name) {
      const runnable = byKind.get(kind)?.get(name)
      if (runnable === undefined) return false
      byKind.get(kind)!.delete(name)
      notify({ type: 'remove', runnable })
      return true
    },
    on: (_event, listener) => subscribe(listeners, unfailing(listener)),
    guard: (check) => subscribe(checks, (runnable) => check(runnable))
  }
}

// Wrapped per call, so that a listener added twice is also removed twice.
function subscribe<Listener>(all: Set<Listener>, listener: Listener): () => void {
  all.add(listener)
  return () => void all.delete(listener)
}

function unfailing(listener: (change: RegistryChange) => unknown): (change: RegistryChange) => Promise<void> {
  return async (change) => {
    try {
      await listener(change)
    } catch (err) {
      process.emitWarning(err instanceof Error ? err : inspect(err))
    }
  }
}

const GLOBAL = Symbol.for('@svc/registry/global')
const holder = globalThis as { [GLOBAL]?: Registry }

/** The registry where agents, teams and workflows register themselves; one per process, even if several copies are installed. */
export const globalRegistry: Registry = (holder[GLOBAL] ??= createRegistry())
