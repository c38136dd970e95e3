import { isExposed, isPromise, type FileStore, type RunFence, type Stores } from '@svc/contract'
import { RUN_ERR_FENCED, RUN_ERR_STORE } from '@svc/contract/errors'
import {
  createInProcessBrowserStateStore,
  createInProcessRemoteSessionStore
} from '../in-process/in-process-stores.ts'
import type { StoreWatch } from './store-watch.ts'

/**
 * Adds stores in process memory for what sessions have beside their messages, where an app brings none: the engine can then remove it
 * with the session.
 */
export function completeStores(stores: Stores): Stores {
  const check = { requireEpoch: (fence: RunFence | undefined) => requireEpoch(stores, fence) }
  const {
    browserStates = createInProcessBrowserStateStore(check),
    remoteSessions = createInProcessRemoteSessionStore(check)
  } = stores
  return { ...stores, browserStates, remoteSessions }
}

async function requireEpoch({ runs }: Stores, fence: RunFence | undefined): Promise<void> {
  if (fence !== undefined && (await runs.find(fence.runId))?.epoch !== fence.epoch)
    throw new RUN_ERR_FENCED(fence.runId)
}

/** A stream that a file store reads. Its errors are those of its source, not of the store. */
class WatchedContent implements AsyncIterable<Uint8Array> {
  readonly #content: AsyncIterable<Uint8Array>
  readonly #errors = new Set<unknown>()

  constructor(content: AsyncIterable<Uint8Array>) {
    this.#content = content
  }

  /** True if the source has thrown this. */
  hasThrown(err: unknown): boolean {
    return this.#errors.has(err)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const chunk of this.#content) yield chunk
    } catch (err) {
      this.#errors.add(err)
      throw err
    }
  }
}

/** Passes streams to a file store as `WatchedContent`. */
function watchContent(files: FileStore): FileStore {
  return {
    put(runId, file, fence) {
      const { content } = file
      return files.put(
        runId,
        content instanceof Uint8Array ? file : { ...file, content: new WatchedContent(content) },
        fence
      )
    },
    get: (runId, fileId, range) => files.get(runId, fileId, range),
    remove: (runIds) => files.remove(runIds)
  }
}

/** The optional members of `Stores`. */
type OptionalPort =
  | 'check'
  | 'files'
  | 'browserStates'
  | 'remoteSessions'
  | 'sessionIndex'
  | 'counters'
  | 'queue'
  | 'schedules'
  | 'webhooks'
  | 'lease'
type Method = (...args: unknown[]) => unknown

/**
 * Wraps an engine's stores: any failure becomes RUN_ERR_STORE and is reported to the watch.
 * What a port says that it throws stays as it is.
 */
export function guardStores(stores: Stores, watch: StoreWatch): Stores {
  const guarded = <P extends Exclude<keyof Stores, OptionalPort>>(port: P) => guard(stores[port], port, watch)
  return {
    runs: guarded('runs'),
    log: guarded('log'),
    sessions: guarded('sessions'),
    memory: guarded('memory'),
    tasks: guarded('tasks'),
    checkpoints: guarded('checkpoints'),
    control: guarded('control'),
    ...(stores.files && { files: watchContent(guard(stores.files, 'files', watch)) }),
    ...(stores.browserStates && { browserStates: guard(stores.browserStates, 'browserStates', watch) }),
    ...(stores.remoteSessions && { remoteSessions: guard(stores.remoteSessions, 'remoteSessions', watch) }),
    ...(stores.sessionIndex && { sessionIndex: guard(stores.sessionIndex, 'sessionIndex', watch) }),
    ...(stores.counters && { counters: guard(stores.counters, 'counters', watch) }),
    ...(stores.queue && { queue: guard(stores.queue, 'queue', watch) }),
    ...(stores.schedules && { schedules: guard(stores.schedules, 'schedules', watch) }),
    ...(stores.webhooks && { webhooks: guard(stores.webhooks, 'webhooks', watch) }),
    ...(stores.lease && { lease: guard(stores.lease, 'lease', watch) }),
    check: () => watch.check()
  }
}

// Methods are called on the store itself, which may be a class with private fields.
function guard<T extends object>(store: T, port: string, watch: StoreWatch): T {
  const guarded = new Map<unknown, Method>()
  return new Proxy({} as T, {
    get(own, name) {
      if (Object.hasOwn(own, name)) return own[name as keyof T]
      const value: unknown = Reflect.get(store, name)
      if (typeof value !== 'function') return value
      let method = guarded.get(value)
      if (method === undefined) {
        const asked = { store: port, method: String(name) }
        method = guardMethod(store, value as Method, (err) => watch.failed(err, asked))
        guarded.set(value, method)
      }
      return method
    }
  })
}

function guardMethod(store: object, method: Method, failed: (err: unknown) => void): Method {
  return (...args) => {
    const fail = (err: unknown): never => {
      if (!isFault(err, args)) throw err
      failed(err)
      throw new RUN_ERR_STORE({ cause: err })
    }
    try {
      const value = Reflect.apply(method, store, args)
      return isPromise(value) ? value.then(undefined, fail) : value
    } catch (err) {
      return fail(err)
    }
  }
}

function isFault(err: unknown, args: readonly unknown[]): boolean {
  // A port refuses with errors below 500, and reports damage to one run; any other failure is the store's.
  if (isExposed(err) && ((err.statusCode ?? 500) < 500 || err.code === 'RUN_ERR_DAMAGED')) return false
  return !args.some((arg) => isCallers(err, arg))
}

// A caller that stops waiting for a session rejects with the reason of its signal, a file whose stream breaks with that error.
function isCallers(err: unknown, arg: unknown): boolean {
  if (arg instanceof AbortSignal) return arg.aborted && arg.reason === err
  const { content } = (arg ?? {}) as { content?: unknown }
  return content instanceof WatchedContent && content.hasThrown(err)
}
