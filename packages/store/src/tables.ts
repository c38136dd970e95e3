import type { RunnableKind, RunStatus } from '@svc/registry'
import type { Generated } from 'kysely'

/** The tables. JSON is text, times are milliseconds since the epoch. */
export interface Tables {
  run: {
    run_id: string
    registry: string
    kind: RunnableKind
    name: string
    session_id: string
    owner: string
    start_key: string | null
    start_hash: string | null
    created_at: number
    updated_at: number
    status: RunStatus
    epoch: number
    /** Null where it is so long that it stands in `run_value`. */
    result: string | null
    error: string | null
    /** Of its log, result and steps, estimated. */
    bytes: number
    /** Null while it goes on. */
    ended_at: number | null
    /** How the result begins. */
    preview: string | null
  }
  /** Values that are too long for a row, in pieces: results, and by the id of their approval arguments. */
  run_value: { run_id: string; name: string; seq: number; json: string }
  run_part: { run_id: string; seq: number; json: string }
  run_step: { run_id: string; key: string; output: string | null }
  run_approval: {
    approval_id: string
    run_id: string
    tool_call_id: string
    tool_name: string
    /** How they begin, where they have more than `MAX_LISTED_ARGS` bytes: then all of them stand in `run_value`. */
    args: string | null
    args_bytes: number
    source: string
    expires_at: number
    answer: string | null
  }
  session: { session_key: string; last_seq: number; updated_at: number }
  session_message: { session_key: string; seq: number; turn_id: string; message: string }
  memory_space: { space_id: Generated<number>; owner: string; namespace: string }
  memory_item: {
    /** In the order in which they were written. */
    item_id: Generated<number>
    space_id: number
    id: string
    text: string
    metadata: string | null
    /** Single-precision numbers. */
    embedding: Uint8Array | null
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
  }
  checkpoint: { run_id: string; epoch: number; state: string }
}
