import type { RunnableMetadata, RunRecord, RunResult } from '@svc/contract'
import type { ErrorBody, Problem } from '../schemas/error-body.ts'

const id = '0d4f5a2e-3c1b-4f6a-9b7d-5e8c2a1f0b34'
const code = 'RUN_ERR_BAD_INPUT'
const requestId = 'req-1'
const message = 'input must be a text that is not empty, or a list of content parts'

const result: RunResult = {
  text: 'You said: Hello',
  toolCalls: [],
  usage: { promptTokens: 9, completionTokens: 4, totalTokens: 13 },
  structured: null,
  durationMs: 412,
  runId: id,
  sessionId: 'session-1',
  finishReason: 'stop'
}
const record: RunRecord = {
  runId: id,
  kind: 'agent',
  name: 'support',
  sessionId: 'session-1',
  status: 'working',
  createdAt: '2025-01-31T09:30:00.000Z',
  updatedAt: '2025-01-31T09:30:00.250Z',
  pendingApprovals: [],
  pendingApprovalCount: 0,
  pendingInputs: [],
  pendingInputCount: 0
}
const metadata: RunnableMetadata = {
  kind: 'agent',
  name: 'support',
  description: 'Answers questions about orders',
  tools: [{ name: 'findOrder', description: 'Looks up an order', input: { type: 'object' } }]
}
const error: ErrorBody = { statusCode: 400, code, error: 'Bad Request', message, requestId }
const problem: Problem = {
  type: 'about:blank',
  title: 'Bad Request',
  status: 400,
  detail: message,
  code,
  requestId
}

/** Example replies, by the title of their schema. */
export const EXAMPLES: Readonly<Record<string, object>> = {
  RunResult: result,
  RunRecord: record,
  RunList: { runs: [{ ...record, href: `/runs/${id}` }], nextCursor: null },
  RunnableMetadata: metadata,
  Registry: {
    agents: ['support'],
    teams: [],
    workflows: ['refund'],
    wires: [{ name: 'http', path: '/api', document: '/api/docs/spec.json' }]
  },
  Health: { status: 'ok' },
  Error: error,
  Problem: problem
}
