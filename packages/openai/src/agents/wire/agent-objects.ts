import {
  NO_METADATA,
  ZERO_USAGE,
  type PartError,
  type RunnableKind,
  type RunSummary,
  type StoredSession,
  type Usage
} from '@svc/contract'
import { toRunnableId, type SessionTurn } from '@svc/surface'
import { toResponseUsage } from '../../wire/response-object.ts'
import type {
  AgentFunction,
  AgentObject,
  AgentSession,
  RequiredAction,
  SessionStatus,
  TokenUsage,
  Turn
} from './agent-schemas.ts'

/** What a session keeps for its later turns. */
export interface AgentSettings {
  readonly instructions?: string
  readonly tools?: readonly AgentFunction[]
  readonly format?: { readonly type: 'json_schema'; readonly schema: Readonly<Record<string, unknown>> }
}

/** The name of the settings of a session. */
export const SETTINGS = 'openai-agents'

/** Seconds of a time in milliseconds. */
export function toSeconds(at: number): number {
  return Math.floor(at / 1_000)
}

function describe(kind: RunnableKind, name: string, { instructions, tools, format }: AgentSettings) {
  const id = toRunnableId(kind, name)
  return {
    id,
    name,
    instructions: instructions ?? null,
    model: id,
    multi_agent: { enabled: kind !== 'agent', max_concurrent_subagents: null },
    reasoning: { effort: null, summary: null },
    service_tier: 'auto',
    text: { format: format ?? { type: 'text' }, verbosity: 'medium' },
    tools: tools === undefined ? [] : [...tools]
  } as const
}

/** A runnable as an agent. It was not made over the wire, so it has no times. */
export function toAgent(kind: RunnableKind, name: string): AgentObject {
  return {
    object: 'agent',
    ...describe(kind, name, {}),
    created_at: 0,
    updated_at: 0,
    metadata: { ...NO_METADATA }
  }
}

/** What is not stored of a session. */
export interface SessionState {
  readonly status: SessionStatus
  readonly required: readonly RequiredAction[]
  /** When something last happened; milliseconds since the epoch. */
  readonly at: number
  /** Of its turns; undefined where they are not counted. */
  readonly usage?: Usage | undefined
}

export function toAgentSession(
  { kind, name, sessionId, createdAt, metadata }: StoredSession,
  settings: AgentSettings,
  { status, required, at, usage }: SessionState
): AgentSession {
  return {
    id: sessionId,
    object: 'agent.session',
    agent: describe(kind, name, settings),
    created_at: toSeconds(createdAt),
    last_active_at: toSeconds(Math.max(at, createdAt)),
    status,
    required_actions: [...required],
    environment: { type: 'none' },
    error: null,
    metadata: { ...metadata },
    usage: toUsage(usage),
    vault_ids: []
  }
}

export function toUsage(usage: Usage | undefined): TokenUsage | null {
  return usage === undefined ? null : toResponseUsage(usage, ZERO_USAGE)
}

const STATES = {
  submitted: 'queued',
  working: 'in_progress',
  'input-required': 'waiting',
  completed: 'completed',
  failed: 'failed',
  canceled: 'cancelled'
} as const satisfies Record<RunSummary['status'], Turn['status']>

/** A turn of a session; of a run whose record is no longer kept only that it is over. */
export function toTurn(
  { sessionId, kind, name, createdAt }: StoredSession,
  { runId, run }: SessionTurn
): Turn {
  const status = run === undefined ? 'completed' : STATES[run.status]
  const isOver = status === 'completed' || status === 'failed' || status === 'cancelled'
  const begun = toSeconds(run?.createdAt ?? createdAt)
  return {
    id: runId,
    object: 'agent.session.turn',
    session_id: sessionId,
    agent_id: toRunnableId(kind, name),
    subagent_id: null,
    status,
    created_at: begun,
    started_at: status === 'queued' ? null : begun,
    completed_at: isOver ? toSeconds(run?.updatedAt ?? createdAt) : null,
    error: run?.error && status === 'failed' ? toTurnError(run.error) : null,
    usage: toUsage(run?.stats?.usage)
  }
}

const CODES: Readonly<Record<string, string>> = {
  RUN_ERR_MODEL_RATE_LIMITED: 'rate_limit_exceeded',
  RUN_ERR_MODEL_FAILED: 'server_error',
  RUN_ERR_MODEL_UNREACHABLE: 'connection_failed',
  RUN_ERR_MODEL_STREAM_BROKEN: 'connection_failed',
  RUN_ERR_MODEL_REFUSED: 'invalid_request',
  RUN_ERR_CONTEXT_OVERFLOW: 'invalid_request',
  RUN_ERR_MODEL_AUTH: 'authentication_error',
  RUN_ERR_FIRST_TOKEN_TIMEOUT: 'request_timeout',
  RUN_ERR_TOKEN_TIMEOUT: 'request_timeout',
  RUN_ERR_TIMEOUT: 'request_timeout',
  RUN_ERR_BAD_INPUT: 'invalid_request'
}

/** The error of a turn: one of the protocol's codes, and with it the text and the code of ours. */
export function toTurnError(error: Pick<PartError, 'code' | 'message'>) {
  return {
    code: CODES[error.code] ?? 'internal_error',
    message: `${error.message} (${error.code})`
  }
}
