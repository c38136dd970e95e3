import { createHmac } from 'node:crypto'
import { OWN, UNIQUE, type LoadRequest } from './load.ts'
import { ANSWER, SECRET } from './quick.ts'

/** One server to measure, and what to measure it against. */
export interface Variant {
  name: string
  /** What is expected of an answer, checked before anything is measured. */
  check(status: number, body: string): boolean
  request: LoadRequest
  /** Requests a round, and a second where the rate is fixed. */
  amount: number
  rate: number
  /** The variant that its figures are divided by. */
  baseline: string
  /** The most that its CPU per request at full speed may be, divided by that of the baseline. */
  target?: number
  /** The same, of work that is still to come: it is shown and never missed. */
  laterTarget?: number
  /** The most bytes of its stream, as a multiple of those of `bare-ui`. */
  bytesTarget?: number
}

const input = 'What does the fox do?'
const body = { input }
const json = { check: isAnswer, amount: 20_000, rate: 2_000, baseline: 'bare-json' }
// Beside a route written by hand that asks the same model.
const asked = { ...json, baseline: 'bare-model' }
const task = { ...json, check: isTask, baseline: 'bare-a2a' }
const besideSdk = { ...task, rate: 1_000 }
const sse = { check: isStream, amount: 8_000, rate: 1_000, baseline: 'bare-sse' }
const events = { ...sse, check: isTaskStream, baseline: 'bare-a2a-sse' }
const paced = { check: isStream, amount: 2_000, rate: 200, baseline: 'bare-sse-paced' }
/** A run of the agent, and a stream of it. */
export const RUN = { path: '/api/agents/quick/run', body }
export const STREAM = { path: '/api/agents/quick/stream', body }
// One more turn of a session.
const TURN = { path: RUN.path, body: { input, sessionId: `session ${OWN}` } }
const turn = { ...json, request: TURN, amount: 1_000, rate: 100 }
const asOwner = { ...RUN, headers: { authorization: `Bearer ${signToken()}` } }
// A chat of its own for each message, as a session of its own for each stream beside it.
const chat = {
  path: '/api/chat/quick',
  body: {
    id: UNIQUE,
    messages: [{ id: 'm-1', role: 'user', parts: [{ type: 'text', text: input }] }],
    trigger: 'submit-message'
  }
}
const thread = {
  path: '/api/ag-ui/quick',
  body: {
    threadId: UNIQUE,
    runId: UNIQUE,
    protocolVersion: '1.0',
    messages: [{ id: 'm-1', role: 'user', content: input }],
    state: {},
    tools: [],
    context: [],
    forwardedProps: {}
  }
}
const response = { path: '/v1/responses', body: { model: 'quick', input, stream: true } }
const completion = {
  path: '/v1/chat/completions',
  body: { model: 'quick', messages: [{ role: 'user', content: input }], stream: true }
}
const agentSession = {
  path: '/v1/agents/sessions',
  headers: { 'openai-beta': 'agents=v1' },
  body: { agent_id: 'quick', environment: { type: 'none' }, input, stream: true }
}
const call = toToolCall({ name: 'quick', arguments: { message: input } })
// Each message needs an id of its own, or it is taken as sent again.
const message = { kind: 'message', messageId: UNIQUE, role: 'user', parts: [{ kind: 'text', text: input }] }
const send = toCall('message/send', message)
const sendV1 = toCall('SendMessage', { messageId: UNIQUE, role: 'ROLE_USER', parts: [{ text: input }] })
const sendStream = toCall('message/stream', message)

/** Everything that one run of the benchmark measures, interleaved. */
export const VARIANTS: readonly Variant[] = [
  { ...json, name: 'bare-json', request: { path: '/run', body } },
  { ...json, name: 'bare-model', request: { path: '/run', body } },
  { ...json, name: 'bare-model-tool', request: { path: '/run', body } },
  { ...asked, name: 'run', request: RUN, target: 2 },
  { ...asked, name: 'run-one', request: RUN, target: 2 },
  { ...asked, name: 'run-tool', request: RUN, target: 2.8, baseline: 'bare-model-tool' },
  { ...json, name: 'run-sqlite', request: RUN, baseline: 'run', laterTarget: 1.5 },
  { ...json, name: 'run-postgres', request: RUN, baseline: 'run', laterTarget: 1.3 },
  { ...turn, name: 'turn' },
  { ...turn, name: 'turn-sqlite', baseline: 'turn' },
  { ...turn, name: 'turn-postgres', baseline: 'turn', target: 2 },
  { ...json, name: 'run-auth', request: asOwner, baseline: 'run', target: 1.5 },
  { ...task, name: 'bare-a2a', request: { ...send, path: '/a2a/send' } },
  { ...task, name: 'a2a-send', request: send, target: 2.2 },
  { ...task, check: isMessage, name: 'a2a-send-message', request: send, target: 2.2 },
  { ...besideSdk, name: 'sdk-send', request: send, baseline: 'sdk-send' },
  { ...besideSdk, name: 'quick-send', request: send, target: 0.33, baseline: 'sdk-send' },
  { ...besideSdk, name: 'sdk-send-v1', request: sendV1, baseline: 'sdk-send-v1' },
  { ...besideSdk, name: 'quick-send-v1', request: sendV1, target: 0.33, baseline: 'sdk-send-v1' },
  { ...sse, check: isChat, name: 'bare-ui', request: { path: '/ui', body } },
  { ...sse, name: 'bare-sse', request: { path: '/stream', body } },
  { ...sse, name: 'stream', request: STREAM, target: 1.6, bytesTarget: 1.5 },
  { ...sse, name: 'stream-sqlite', request: STREAM },
  {
    ...sse,
    name: 'stream-session',
    request: { ...STREAM, body: { ...body, sessionId: UNIQUE } },
    target: 1.6
  },
  { ...sse, check: isChat, name: 'ui-stream', request: chat, baseline: 'stream-session', target: 1.15 },
  { ...sse, check: isThread, name: 'ag-ui', request: thread, baseline: 'stream-session', target: 1.15 },
  { ...sse, check: isResponse, name: 'responses', request: response, baseline: 'stream', target: 1.15 },
  { ...sse, check: isCompletion, name: 'completions', request: completion, baseline: 'stream', target: 1.15 },
  {
    ...sse,
    check: isSession,
    name: 'agents-api',
    request: agentSession,
    baseline: 'stream-session',
    target: 1.3
  },
  { ...sse, check: isToolResult, name: 'mcp', request: call, baseline: 'stream', target: 1.15 },
  { ...events, name: 'bare-a2a-sse', request: { ...sendStream, path: '/a2a/stream' } },
  { ...events, name: 'a2a-stream', request: sendStream, target: 1.6 },
  { ...paced, name: 'bare-sse-paced', request: { path: '/stream', body } },
  { ...paced, name: 'stream-paced', request: STREAM, target: 2 }
]

function isAnswer(status: number, text: string): boolean {
  const result = JSON.parse(text) as { text: string; usage: { totalTokens: number } }
  return status === 200 && result.text === ANSWER && result.usage.totalTokens > 0
}

function isTask(status: number, text: string): boolean {
  const { result } = JSON.parse(text) as { result: object }
  const { artifacts, history } = ('task' in result ? result.task : result) as {
    artifacts: { parts: { text: string }[] }[]
    history: object[]
  }
  return status === 200 && artifacts[0]?.parts[0]?.text === ANSWER && history.length > 0
}

function isMessage(status: number, text: string): boolean {
  const { result } = JSON.parse(text) as { result: { kind: string; parts: { text: string }[] } }
  return status === 200 && result.kind === 'message' && result.parts[0]?.text === ANSWER
}

function toCall(method: string, sent: object): LoadRequest {
  const headers = method === 'SendMessage' ? { 'a2a-version': '1.0' } : {}
  return { path: '/a2a', body: { jsonrpc: '2.0', id: 1, method, params: { message: sent } }, headers }
}

/** A call of a tool, as clients of 2026-07-28 send it, with progress. */
function toToolCall(params: { name: string; arguments: object }): LoadRequest {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
    progressToken: 1
  }
  return {
    path: '/api/mcp',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params, _meta: meta } },
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': params.name
    }
  }
}

function isToolResult(status: number, text: string): boolean {
  const { result } = JSON.parse(text) as { result: { content: { text: string }[] } }
  return status === 200 && result.content[0]?.text === ANSWER
}

function isTaskStream(status: number, text: string): boolean {
  const updates = messagesOf<{ result: TaskUpdate }>(text).map(({ result }) => result)
  const said = updates.map(({ artifact }) => artifact?.parts[0]?.text ?? '').join('')
  return status === 200 && said === ANSWER && updates.at(-1)?.status?.state === 'completed'
}

interface TaskUpdate {
  artifact?: { parts: { text: string }[] }
  status?: { state: string }
}

function messagesOf<T>(text: string): T[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => JSON.parse(line.slice(6)) as T)
}

function isStream(status: number, text: string): boolean {
  const parts = messagesOf<{ type: string; text?: string }>(text)
  const said = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return status === 200 && said === ANSWER && parts.at(-1)?.type === 'finish'
}

function isChat(status: number, text: string): boolean {
  const [rest, done] = text.split('data: [DONE]')
  const chunks = messagesOf<{ type: string; delta?: string }>(rest!)
  const said = chunks.map(({ type, delta }) => (type === 'text-delta' ? delta : '')).join('')
  return status === 200 && said === ANSWER && chunks.at(-1)?.type === 'finish' && done !== undefined
}

function isThread(status: number, text: string): boolean {
  const made = messagesOf<{ type: string; delta?: string }>(text)
  const said = made.map(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? delta : '')).join('')
  return status === 200 && said === ANSWER && made.at(-1)?.type === 'RUN_FINISHED'
}

function isResponse(status: number, text: string): boolean {
  const [rest, done] = text.split('data: [DONE]')
  const sent = messagesOf<{ type: string; delta?: string }>(rest!)
  const said = sent.map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : '')).join('')
  return status === 200 && said === ANSWER && sent.at(-1)?.type === 'response.completed' && done !== undefined
}

function isCompletion(status: number, text: string): boolean {
  const [rest, done] = text.split('data: [DONE]')
  const chunks = messagesOf<{ choices: { delta: { content?: string }; finish_reason: string | null }[] }>(
    rest!
  )
  const said = chunks.map(({ choices: [choice] }) => choice?.delta.content ?? '').join('')
  const ends = chunks.some(({ choices: [choice] }) => choice?.finish_reason === 'stop')
  return status === 200 && said === ANSWER && ends && done !== undefined
}

function isSession(status: number, text: string): boolean {
  const sent = messagesOf<{ type: string; delta?: string }>(text)
  const said = sent.map(({ type, delta }) => (type === 'agent.session.turn.output_text.delta' ? delta : ''))
  return status === 200 && said.join('') === ANSWER && sent.at(-1)?.type === 'agent.session.idle'
}

/** A token that `SECRET` is good for. */
export function signToken(): string {
  const exp = Math.floor(Date.now() / 1000) + 86_400
  const claims = { sub: 'bench', scopes: ['agents:run'], exp }
  const signed = [{ alg: 'HS256', typ: 'JWT' }, claims].map(encode).join('.')
  return `${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
