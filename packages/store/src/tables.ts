import type { InputKind, RunnableKind, RunStatus, WebhookEvent } from '@svc/contract'
import type { Generated, GeneratedAlways } from 'kysely'

/** The tables. JSON is text, times are milliseconds since the epoch. */
export interface Tables {
  run: {
    run_id: string
    registry: string
    kind: RunnableKind
    name: string
    session_id: string
    owner: string
    /** Of a caller without credentials; null if it gave none, and for all others. */
    user_id: string | null
    start_key: string | null
    start_hash: string | null
    /** JSON of the caller's texts; null if there are none. */
    metadata: string | null
    created_at: number
    updated_at: number
    status: RunStatus
    epoch: number
    /** Null for 1, of runs of earlier releases. */
    format: number | null
    /** Null if it is long: then it is in `run_value`. */
    result: string | null
    error: string | null
    /** Estimated size of its log, result and steps. */
    bytes: number
    /** Null while the run is active. */
    ended_at: number | null
    /** The beginning of the result. */
    preview: string | null
    /** `RunStats` as JSON; null until the run ends. */
    stats: string | null
    /** Bytes of its files. */
    file_bytes: number
    /** When it was put into the queue; null if it began at once. While it waits its epoch is 0. */
    queued_at: number | null
    /** On Postgres only: the process that has it, or had it last. */
    node_id: Generated<string | null>
    /** When it was asked to be canceled, by the database's clock and in its format; null if it was not. */
    cancel_at: unknown
    /** How it leaves its turn if a later message of its session cancels it, as JSON. */
    left_turn: Generated<string | null>
  }
  /** Long values in pieces: results, and arguments by the id of their input. */
  run_value: { run_id: string; name: string; seq: number; json: string }
  run_part: { run_id: string; seq: number; json: string }
  /** On Postgres only: each key of a run's metadata with its value, as `digestPair` makes it. */
  run_metadata: { owner: string; pair: Uint8Array; created_at: number; run_id: string }
  /** Counts the waiting runs of an owner that were queued from one instant to before the next row's. */
  queue_span: { owner: string; from_at: number; last_at: number; waiting: number }
  /** Messages that are to join a run. */
  run_steer: { steer_id: string; run_id: string; hash: string | null; message: string }
  run_step: { run_id: string; key: string; output: string | null }
  run_input: {
    input_id: string
    run_id: string
    kind: InputKind
    message: string | null
    schema: string | null
    tool_call_id: string | null
    tool_name: string | null
    /** Only their beginning if they exceed `MAX_LISTED_ARGS` bytes: then `run_value` has them in full. */
    args: string | null
    args_bytes: number
    source: string
    path: string
    expires_at: number
    answer: string | null
    seal_key: string | null
  }
  session: {
    session_key: string
    registry: string
    owner: string
    kind: RunnableKind
    name: string
    session_id: string
    title: string | null
    metadata: string | null
    created_at: number
    updated_at: number
    /** The part of `updated_at` that indexes have, in steps of 2^15 ms. */
    updated_slot: GeneratedAlways<number>
    turns: number
    /** Of its newest message. */
    last_seq: number
    /** Of the last run that entered. */
    last_ordinal: number
    last_run: string | null
    /** 1 if it is in the list of its owner. */
    listed: number
    /** `SessionSettings` as JSON; null if none were given. */
    settings: string | null
    /** On Postgres only: when it had changed last as the sweep found it in use; null before. */
    checked_at: Generated<number | null>
  }
  session_message: { session_key: string; seq: number; turn_id: string; message: string }
  /**
   * A branch of a session: the messages from `first_seq` on, up to the next branch, follow `parent_seq` of `parent_key`, or begin the
   * session if that is 0. The parent is in another session for a fork; the fork has no message `first_seq` then. Messages before all
   * branches follow each other.
   */
  session_branch: { session_key: string; first_seq: number; parent_key: string; parent_seq: number }
  /** The runs of a session, in the order in which they entered. */
  session_run: { session_key: string; ordinal: number; run_id: string }
  memory_space: { space_id: Generated<number>; owner: string; namespace: string }
  memory_item: {
    /** In the order of writing. */
    item_id: Generated<number>
    space_id: number
    id: string
    text: string
    metadata: string | null
    /** That of its metadata; null if it has none. */
    session_id: string | null
    /** Single-precision numbers. */
    embedding: Uint8Array | null
    /** As `codeOfEmbedding`, in bits on Postgres; null for an item without model, or without an embedding. */
    code: Generated<Uint8Array | string | null>
    /** Of the embedding; null for items of earlier releases, and of callers that name none. */
    model: Generated<string | null>
    created_at: number
  }
  memory_word: { space_id: number; word: string; item_id: number }
  task: {
    task_id: string
    context_id: string
    registry: string
    owner: string
    agent_name: string
    created_at: number
  }
  task_message: {
    registry: string
    owner: string
    message_id: string
    task_id: string
    seq: number
    message: string
  }
  push_config: {
    task_id: string
    config_id: string
    config: string
    /** The last part sent to its receiver; null when nothing is pending. */
    pushed: number | null
    /** Of its task. */
    owner: string
    /** That of the configuration; null if it has none. */
    endpoint: string | null
    /** The node that sends its notifications; null if it gave up. */
    node_id: string | null
  }
  /** The living nodes, on Postgres only. */
  node: { node_id: string }
  /** AES-256-GCM of JSON, see `encoding/encrypted.ts`. */
  browser_state: {
    session_key: string
    owner: string
    session_id: string
    state: Uint8Array
    updated_at: number
  }
  /** Which conversation of another service belongs to a session. */
  remote_session: {
    session_key: string
    owner: string
    session_id: string
    remote: string
    context_id: string
    task_id: string | null
    updated_at: number
  }
  checkpoint: { run_id: string; epoch: number; state: string }
  schedule: {
    schedule_id: string
    registry: string
    kind: RunnableKind
    name: string
    owner: string
    created_at: number
    updated_at: number
    revision: number
    /** JSON of a `SchedulePlan`. */
    plan: string
    /** Null if it fires no more, or is not enabled. */
    next_at: number | null
    /** When its only instant was over. */
    ended_at: number | null
    last_at: number | null
    last_run_id: string | null
    last_error: string | null
  }
  webhook: {
    webhook_id: string
    /** `owner` or `run`, and the id of what it reports. */
    subject: string
    owner: string
    run_id: string | null
    /** Ids between spaces; empty if it reports all. */
    registries: string
    url: string
    /** Of the URL, with its port. */
    host: string
    /** Events between spaces. */
    events: string
    /** JSON of a list. */
    secrets: string
    created_at: number
    updated_at: number
  }
  /** The outbox: messages that were not delivered. */
  webhook_delivery: {
    seq: Generated<number>
    delivery_id: string
    webhook_id: string
    owner: string
    run_id: string
    registry: string
    kind: RunnableKind
    name: string
    session_id: string
    metadata: string | null
    event: WebhookEvent
    /** JSON, or null. */
    detail: string | null
    at: number
    /** When it is sent next, or was given up. */
    due_at: number
    /** 1 if it was given up. */
    dead: number
    attempts: number
    last_status: number | null
    last_error: string | null
  }
  /** What is known about files; their bytes are beside an SQLite database, and in `file_chunk` on Postgres. */
  file: {
    file_id: string
    run_id: string
    mime_type: string
    filename: string | null
    size: number
    sha256: string
    created_at: number
  }
  /** On Postgres only: the last committed transaction of each writer, and which process sweeps. */
  writer: { writer_id: string; token: string; seen_at: Date }
  /** On Postgres only: the bytes of files, 256 KiB each but for the last. */
  file_chunk: {
    run_id: string
    file_id: string
    seq: number
    bytes: Uint8Array
    /** By the clock of the database. */
    written_at: Generated<Date>
  }
}

/** Where lists find runs, and sweeps sessions. On SQLite all runs are in `run`, whose indexes have what changes with their state. */
export interface RunSources {
  /** Unfinished runs. */
  readonly open: 'run' | 'run_unfinished'
  /** Finished runs. */
  readonly ended: 'run' | 'run_end'
  /** All runs, by their last change. */
  readonly changed: 'run' | 'run_change'
  /** Runs of an owner by a key of their metadata with its value. */
  readonly labeled: 'run' | 'run_metadata'
  /** Runs that a page looks at: after that even a short one has a cursor, and a total counts no more. */
  readonly maxScanned: number
  /** By which sweeps find sessions that may be old: on Postgres each turn would change an index of the other. */
  readonly aged: 'updated_at' | 'coalesce(checked_at, created_at)'
}
