import { hash } from 'node:crypto'
import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { checkOf, findFaults, formatFaults } from '@svc/contract'
import { quoteName } from '@svc/surface'

/** An id of a request, or a token for its progress. */
export const IdSchema = Type.Union([Type.String(), Type.Integer()])
export type RequestId = Static<typeof IdSchema>

/** A message of JSON-RPC, as its schema has it. */
export interface Message {
  readonly jsonrpc: '2.0'
  readonly id?: RequestId
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: object
  readonly error?: object
}

/** A message that wants a response. */
export type Request = Message & Required<Pick<Message, 'id' | 'method'>>

export function isRequest(message: Message): message is Request {
  return message.method !== undefined && message.id !== undefined
}

export function isNotification({ id, method }: Message): boolean {
  return method !== undefined && id === undefined
}

export function isResponse({ id, method, result, error }: Message): boolean {
  return method === undefined && id !== undefined && (result ?? error) !== undefined
}

/** The response with a result. */
export function toResponse(id: RequestId, result: object): object {
  return { jsonrpc: '2.0', id, result }
}

/** The response with an error; `id` is null where that of the request is not known. */
export function toErrorResponse(
  id: RequestId | null,
  { code, message, data }: { code: number; message: string; data?: unknown }
): object {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } }
}

/** The id of a request that could not be read, for its error; null if it has none. */
export function idOf(body: unknown): RequestId | null {
  const { id, method } = (body ?? {}) as { id?: unknown; method?: unknown }
  return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? id : null
}

/** The revision whose requests say all about themselves: each names its revision and what its client can do. */
export const MODERN = '2026-07-28'

/** Earlier revisions, which begin with `initialize`; the newest first. */
export const LEGACY_REVISIONS: readonly string[] = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07'
]

/** True for the names of revisions from 2026-07-28 on, known or not: they are dates. */
export function isModern(revision: string | undefined): boolean {
  return revision !== undefined && revision >= MODERN
}

/** Keys of `_meta` that the protocol reserves. */
export const META_KEYS = {
  revision: 'io.modelcontextprotocol/protocolVersion',
  client: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  server: 'io.modelcontextprotocol/serverInfo',
  subscription: 'io.modelcontextprotocol/subscriptionId'
} as const

/** The id of the extension for tasks. */
export const TASKS = 'io.modelcontextprotocol/tasks'

/** Codes of JSON-RPC, and those that MCP adds. */
export const RPC_CODES = {
  ParseError: -32_700,
  InvalidRequest: -32_600,
  MethodNotFound: -32_601,
  InvalidParams: -32_602,
  InternalError: -32_603,
  Refused: -32_000,
  HeaderMismatch: -32_020,
  MissingCapability: -32_021,
  UnsupportedRevision: -32_022
} as const

/** An error of the protocol, as its response has it. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown
  /** The status of the reply, unless it is a stream already. */
  readonly status: number

  constructor(
    code: number,
    message: string,
    { data, status = 200 }: { data?: unknown; status?: number } = {}
  ) {
    super(message)
    this.code = code
    this.data = data
    this.status = status
  }
}

/** A message that JSON-RPC, or the revision, does not have. */
export function invalidRequest(message: string): RpcError {
  return new RpcError(RPC_CODES.InvalidRequest, message, { status: 400 })
}

/** Parameters that the method does not take. */
function invalidParams(message: string, status = 200): RpcError {
  return new RpcError(RPC_CODES.InvalidParams, message, { status })
}

/** A header that does not say what the body says, or is not there. */
export function headerMismatch(header: string, value: string): RpcError {
  const message = `the header ${header} must be ${quoteName(value)}, as in the body`
  return new RpcError(RPC_CODES.HeaderMismatch, message, { status: 400 })
}

export function unsupportedRevision(requested: string): RpcError {
  const data = { supported: [MODERN], requested }
  return new RpcError(RPC_CODES.UnsupportedRevision, 'Unsupported protocol version', { data, status: 400 })
}

/** A method that a revision does not have. */
export function methodNotFound(status: number): RpcError {
  return new RpcError(RPC_CODES.MethodNotFound, 'Method not found', { status })
}

/** A client that does not declare what its request needs. */
export function missingCapability(requiredCapabilities: object): RpcError {
  const message = `The client lacks the capability: ${JSON.stringify(requiredCapabilities)}`
  return new RpcError(RPC_CODES.MissingCapability, message, { data: { requiredCapabilities }, status: 400 })
}

/** A resource that the caller does not reach. */
export function resourceNotFound(uri: string): RpcError {
  return new RpcError(RPC_CODES.InvalidParams, `Resource not found: ${uri}`, { data: { uri } })
}

/** The check of a value by its schema. @param root its name in errors @param status of the reply */
export function checkParams<T extends TSchema>(
  schema: T,
  root = 'params',
  status?: number
): (value: unknown) => Static<T> {
  const fits = checkOf(schema)
  return (value) => {
    if (fits(value)) return value
    throw invalidParams(formatFaults(findFaults(schema, value, { root })), status)
  }
}

/** What all clients take as the name of a tool or a prompt: many refuse a server if one of its names does not fit. */
const CLIENT_NAME = /^[A-Za-z0-9_-]{1,64}$/
const MAX_LENGTH = 64
/** Hexadecimal digits of the hash. */
const DIGITS = 12
const HASHED = /_[0-9a-f]{12}$/

/**
 * A name that all clients take: the text itself, or as much of it as fits, and a hash of what is named. It depends on nothing else, so that
 * it is the same on each node and after a restart.
 * @param isClear false if the text could be the name of something else
 */
export function toClientName(text: string, isClear: boolean, named: readonly string[]): string {
  if (isClear && CLIENT_NAME.test(text)) return text
  const begin = text.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, MAX_LENGTH - DIGITS - 1)
  return `${begin}_${hash('sha256', JSON.stringify(named)).slice(0, DIGITS)}`
}

/** True if a name may end with a hash. */
export function isHashed(name: string): boolean {
  return HASHED.test(name)
}

/** A block of content of a result. */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource'
      readonly resource: { readonly uri: string; readonly mimeType: string; readonly text: string }
    }
  | {
      readonly type: 'resource_link'
      readonly uri: string
      readonly name: string
      readonly mimeType: string
      readonly size?: number
    }

/** The result of `tools/call`. */
export interface ToolResult {
  readonly content: readonly ContentBlock[]
  readonly structuredContent?: unknown
  readonly isError?: true
  readonly _meta: Readonly<Record<string, unknown>>
}

/** A tool, as `tools/list` has it. */
export interface Tool {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: object
  readonly outputSchema?: object
  readonly icons?: readonly { readonly src: string }[]
  readonly annotations: { readonly title?: string; readonly openWorldHint: boolean }
}

/** A resource, as `resources/list` has it. */
export interface Resource {
  readonly uri: string
  readonly name: string
  readonly title: string
  readonly description: string
  readonly mimeType: string
}

/** What `resources/read` has read. */
export interface ResourceContents {
  readonly contents: readonly {
    readonly uri: string
    readonly mimeType: string
    readonly text?: string
    readonly blob?: string
  }[]
}

/** A prompt, as `prompts/list` has it. */
export interface Prompt {
  readonly name: string
  readonly description?: string
  readonly arguments: readonly {
    readonly name: string
    readonly description: string
    readonly required: boolean
  }[]
}

/** A prompt, as `prompts/get` has it. */
export interface PromptMessages {
  readonly description?: string
  readonly messages: readonly { readonly role: 'user'; readonly content: ContentBlock }[]
}
