import { Type } from '@sinclair/typebox'
import {
  defined,
  functionSchema,
  MAX_TIMER,
  objectSchema,
  optionsSchema,
  REQUIRED_PORTS,
  requireOptions,
  WebhookSecretSchema,
  type Authenticate,
  type Authorize,
  type EventBus,
  type RunLog,
  type Stores
} from '@svc/contract'
import { REG_ERR_BAD_OPTION } from '@svc/contract/errors'
import { SHARED_OPTIONS, type SharedOptions } from './access/shared-options.ts'

/** Options of a registry. */
export interface RegistryOptions {
  /** Separates its runs, sessions and memories from those of other registries; default `global`. */
  id?: string
}

export const RegistryOptionsSchema = optionsSchema<RegistryOptions>({
  id: Type.String({ pattern: '^[\\w.~-]{1,64}$' })
})

/** Limits of a run engine. */
export interface EngineLimits {
  /** Concurrent runs, without those that only wait; default 1,000. */
  maxRuns?: number
  /** Concurrent runs per owner, except anonymous; default 100. */
  maxRunsPerOwner?: number
  /** Bytes, about, that runs which only wait take in memory, per owner, anonymous included; default 67,108,864. */
  maxWaitingBytesPerOwner?: number
  /** Bytes of one run's log, as JSON; default 67,108,864. */
  maxLogBytes?: number
  /** Schedules per owner, anonymous included; default 100. Those whose only instant is over do not count. */
  maxSchedulesPerOwner?: number
  /** Webhooks for all runs of an owner, per owner, anonymous included; default 20. */
  maxWebhooksPerOwner?: number
  /** Webhooks of single runs that are in progress or have messages to come, per owner, anonymous included; default 10,000. */
  maxRunWebhooksPerOwner?: number
}

const EngineLimitsSchema = optionsSchema<EngineLimits>({
  maxRuns: Type.Integer({ minimum: 1 }),
  maxRunsPerOwner: Type.Integer({ minimum: 1 }),
  maxWaitingBytesPerOwner: Type.Integer({ minimum: 0 }),
  maxLogBytes: Type.Integer({ minimum: 1024 }),
  maxSchedulesPerOwner: Type.Integer({ minimum: 0 }),
  maxWebhooksPerOwner: Type.Integer({ minimum: 0 }),
  maxRunWebhooksPerOwner: Type.Integer({ minimum: 0 })
})

/** How many runs from the queue are in progress; see `StartOptions.queue`. */
export interface QueueOptions {
  /** In this process; default 10. */
  concurrency?: number
  /** Per owner, except anonymous, in all processes; default 5. Runs that wait for an input count too. */
  perOwner?: number
}

const QueueSchema = optionsSchema<QueueOptions>({
  concurrency: Type.Integer({ minimum: 1, maximum: 1_000 }),
  perOwner: Type.Integer({ minimum: 1 })
})

/** How messages of webhooks are sent. */
export interface WebhookOptions {
  /** Secrets of the service, 5 at most: they sign the messages about runs that were started with a webhook without secrets. */
  secrets?: string[]
  /** How often a message is sent at most; default 15. */
  attempts?: number
  /** Milliseconds before the second attempt; each later pause is twice as long, up to 6 hours; default 5,000. */
  backoff?: number
  /** Milliseconds for a receiver to answer; default 15,000. */
  timeout?: number
  /** Messages that this process sends at a time; default 32. */
  concurrency?: number
  /** Of these, to one host; default 8. */
  perHost?: number
  /** Allows receivers with private, loopback and link-local addresses; default false. */
  allowPrivate?: boolean
}

const WebhookOptionsSchema = optionsSchema<WebhookOptions>({
  secrets: Type.Array(WebhookSecretSchema, { maxItems: 5 }),
  attempts: Type.Integer({ minimum: 1, maximum: 100 }),
  backoff: Type.Integer({ minimum: 1, maximum: MAX_TIMER }),
  timeout: Type.Integer({ minimum: 1, maximum: 600_000 }),
  concurrency: Type.Integer({ minimum: 1, maximum: 1_000 }),
  perHost: Type.Integer({ minimum: 1, maximum: 1_000 }),
  allowPrivate: Type.Boolean()
})

/** Retention of the in-process stores. */
export interface RetentionOptions {
  /** Milliseconds that finished runs are kept; default 600,000. */
  maxAge?: number
  /** Finished runs; default 10,000. */
  maxRuns?: number
  /** Bytes of all logs; default 268,435,456. */
  maxBytes?: number
  /** Characters of A2A messages and push configurations; default 67,108,864. */
  taskMaxBytes?: number
  /** Bytes of the files that runs made; default 67,108,864. */
  fileMaxBytes?: number
  /** Memories of one owner and agent; default 1,000. */
  memoryMaxItems?: number
  /** Milliseconds that a memory is kept; default 365 days, 0: without limit. */
  memoryMaxAge?: number
}

const RetentionSchema = optionsSchema<RetentionOptions>({
  maxAge: Type.Integer({ minimum: 0 }),
  maxRuns: Type.Integer({ minimum: 0 }),
  maxBytes: Type.Integer({ minimum: 0 }),
  taskMaxBytes: Type.Integer({ minimum: 0 }),
  fileMaxBytes: Type.Integer({ minimum: 0 }),
  memoryMaxItems: Type.Integer({ minimum: 1 }),
  memoryMaxAge: Type.Integer({ minimum: 0 })
})

/** What is recorded of each run. */
export interface RecordOptions {
  /**
   * What a run was asked, in its `start` part, in sessions, memories and A2A tasks, and in the checkpoint from which another process can
   * resume it; default true. Without it no run is resumable.
   */
  input?: boolean
  /**
   * The bytes that clients send with an input, as uploads or base64: in the file store of the run, until the run is removed. The `start`
   * part then has their `fileId`, and another process can resume the run. Default false: references only, and such a run is not
   * resumable. Needs `input` and a file store.
   */
  files?: boolean
}

const RecordSchema = optionsSchema<RecordOptions>({ input: Type.Boolean(), files: Type.Boolean() })

/** Options of a run engine; every one has a default. */
export interface RunEngineOptions extends SharedOptions {
  /** Default: in memory. */
  stores?: Stores | undefined
  events?: EventBus | undefined
  /** Gets the faults that belong to no request. */
  log?: RunLog | undefined
  limits?: EngineLimits | undefined
  /** Given, even empty, it makes this process begin queued runs from its start on, whichever process queued them. */
  queue?: QueueOptions | undefined
  webhooks?: WebhookOptions | undefined
  /** Of the stores in memory; other stores have their own. */
  retention?: RetentionOptions | undefined
  record?: RecordOptions | undefined
  /** Milliseconds that closing waits for the runs under way; default 10,000. */
  drainTimeout?: number | undefined
  /** Milliseconds that an interrupted run waits for its runnable to be registered; default 300,000. */
  resumeTimeout?: number | undefined
  /**
   * Whether a run that began with its caller's key for a model provider is resumed after a restart with the service's own key. Keys
   * are not stored, so that it fails with RUN_ERR_KEY_GONE otherwise. Default false.
   */
  resumeWithServerKey?: boolean | undefined
  /** Hosts, besides local names, of surfaces without authentication on loopback, and of pages that may call them; default none. */
  hosts?: string[] | undefined
  /** Credentials → principal, for every surface without an `authenticate` of its own; default: everyone is anonymous. */
  authenticate?: Authenticate | undefined
  /**
   * Who may do what to which runnable, for every surface without an `authorize` of its own, and for guarded runs that resume
   * after their surface is gone: without it these may reach nothing.
   */
  authorize?: Authorize | undefined
}

/** The defaults of an engine; times are milliseconds. */
export const ENGINE_DEFAULTS = Object.freeze({
  maxRuns: 1_000,
  maxRunsPerOwner: 100,
  maxWaitingBytesPerOwner: 67_108_864,
  maxLogBytes: 67_108_864,
  maxSchedulesPerOwner: 100,
  maxWebhooksPerOwner: 20,
  maxRunWebhooksPerOwner: 10_000,
  drainTimeout: 10_000,
  resumeTimeout: 300_000,
  queueConcurrency: 10,
  queuePerOwner: 5,
  webhooks: Object.freeze({
    secrets: [] as string[],
    attempts: 15,
    backoff: 5_000,
    timeout: 15_000,
    concurrency: 32,
    perHost: 8,
    allowPrivate: false
  })
})

const port = Type.Object({})
const PLUGIN_FIELDS = {
  stores: Type.Unsafe<Stores>(
    Type.Object({
      ...REQUIRED_PORTS,
      files: Type.Optional(port),
      queue: Type.Optional(port),
      schedules: Type.Optional(port),
      webhooks: Type.Optional(port)
    })
  ),
  limits: EngineLimitsSchema,
  queue: QueueSchema,
  webhooks: WebhookOptionsSchema,
  retention: RetentionSchema,
  record: RecordSchema,
  drainTimeout: Type.Integer({ minimum: 0, maximum: MAX_TIMER }),
  resumeTimeout: Type.Integer({ minimum: 0, maximum: MAX_TIMER }),
  resumeWithServerKey: Type.Boolean(),
  hosts: Type.Array(Type.String({ minLength: 1 })),
  authenticate: functionSchema<Authenticate>(),
  authorize: functionSchema<Authorize>(),
  ...SHARED_OPTIONS
}

const EngineOptionsSchema = optionsSchema<RunEngineOptions>({
  ...PLUGIN_FIELDS,
  events: objectSchema<EventBus>(),
  log: objectSchema<RunLog>()
})

/** The options of the plugin: those of an engine but for its events and log, and a registry. */
export interface EnginePluginOptions<Registry = object> extends Omit<RunEngineOptions, 'events' | 'log'> {
  /** Default: the global one. */
  registry?: Registry | undefined
  /**
   * Milliseconds that a closing app still accepts connections, at least, so that load balancers and clients can turn to another
   * process; default 1,000 if its stores are shared by several processes, else 0.
   */
  closeDelay?: number | undefined
}

export const PluginOptionsSchema = optionsSchema<EnginePluginOptions>({
  ...PLUGIN_FIELDS,
  registry: port,
  closeDelay: Type.Integer({ minimum: 0, maximum: MAX_TIMER })
})

/** Checks options of an engine, where an undefined one counts as not given. @throws REG_ERR_BAD_OPTION */
export function requireEngineOptions(options: RunEngineOptions): void {
  requireOptions(EngineOptionsSchema, defined(options))
  const { record, stores } = options
  if (!record?.files) return
  if (record.input === false)
    throw new REG_ERR_BAD_OPTION(
      'record.files: it must be false where record.input is: files of an input belong to it'
    )
  if (stores !== undefined && stores.files === undefined)
    throw new REG_ERR_BAD_OPTION('record.files: the stores have no file store: add `files` to them')
}
