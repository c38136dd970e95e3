import { createHmac } from 'node:crypto'
import { UNIQUE, type LoadRequest } from './load.ts'

/** What signs the token of the servers that ask for one. */
export const SECRET = 'a secret of the benchmark alone, 32 bytes'

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
  /** The ratio of CPU that the project promises. */
  promise?: number
}

/** The text that every model and every bare route answers. */
export const ANSWER = 'The quick brown fox jumps over the lazy dog, and the dog does not mind at all.'
/** The chunks of every stream. */
export const CHUNKS: readonly string[] = Array.from({ length: 20 }, (_, index) => `word ${index} `)

const body = { input: 'What does the fox do?' }
const json = { check: isAnswer, amount: 20_000, rate: 2_000, baseline: 'bare-json' }
const sse = { check: isStream, amount: 8_000, rate: 1_000 }
const paced = { check: isStream, amount: 2_000, rate: 200 }
const run = { path: '/api/agents/quick/run', body }
const asOwner = { ...run, headers: { authorization: `Bearer ${signToken()}` } }
const question = [{ kind: 'text', text: body.input }]
const send = toCall('message/send', { role: 'user', parts: question })
// The SDK wants an id; each message needs one of its own, or it is taken as sent again.
const sendWithId = toCall('message/send', {
  kind: 'message',
  messageId: UNIQUE,
  role: 'user',
  parts: question
})
const sendV1 = toCall('SendMessage', { messageId: UNIQUE, role: 'ROLE_USER', parts: [{ text: body.input }] })
const task = { ...json, check: isTask }
const besideSdk = { ...task, rate: 1_000 }
const stream = { path: '/api/agents/quick/stream', body }

/** Everything that one run of the benchmark measures, interleaved. */
export const VARIANTS: readonly Variant[] = [
  { ...json, name: 'bare-json', request: { path: '/run', body } },
  { ...json, name: 'run', request: run, promise: 1.8 },
  { ...json, name: 'run-tool', request: run },
  { ...json, name: 'run-sqlite', request: run },
  { ...json, name: 'run-auth', request: asOwner, baseline: 'run', promise: 1.5 },
  { ...task, name: 'a2a-send', request: send, promise: 1.5, baseline: 'run' },
  { ...besideSdk, name: 'sdk-send', request: sendWithId },
  { ...besideSdk, name: 'a2a-send-id', request: sendWithId, promise: 0.33, baseline: 'sdk-send' },
  { ...besideSdk, name: 'sdk-send-v1', request: sendV1 },
  { ...besideSdk, name: 'a2a-send-v1', request: sendV1, promise: 0.33, baseline: 'sdk-send-v1' },
  { ...sse, name: 'bare-sse', request: { path: '/stream', body }, baseline: 'bare-sse' },
  { ...sse, name: 'stream', request: stream, baseline: 'bare-sse', promise: 2 },
  { ...sse, name: 'stream-sqlite', request: stream, baseline: 'bare-sse' },
  { ...paced, name: 'bare-sse-paced', request: { path: '/stream', body }, baseline: 'bare-sse-paced' },
  { ...paced, name: 'stream-paced', request: stream, baseline: 'bare-sse-paced', promise: 2 }
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

function toCall(method: string, message: object): LoadRequest {
  const headers = method === 'SendMessage' ? { 'a2a-version': '1.0' } : {}
  return { path: '/a2a', body: { jsonrpc: '2.0', id: 1, method, params: { message } }, headers }
}

function isStream(status: number, text: string): boolean {
  const parts = text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)) as { type: string; text?: string })
  const said = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return status === 200 && said === CHUNKS.join('') && parts.at(-1)?.type === 'finish'
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
