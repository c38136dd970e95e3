import { Type } from '@sinclair/typebox'
import {
  EXPOSED_OPTIONS,
  POLICY_OPTIONS,
  SHARED_OPTIONS,
  splitRegisterOptions,
  type NamedRunnables,
  type PolicyOptions,
  type Registry
} from '@svc/surface'
import {
  defined,
  functionSchema,
  MAX_TIMER,
  OnDisconnectSchema,
  optionsSchema,
  requireOptions,
  type OnDisconnect
} from '@svc/contract'
import type { RegisterOptions } from 'fastify'
import { MCP_ERR_BAD_OPTION } from './errors.ts'

/** Credentials that a run waits for. */
export interface AskedCredentials {
  readonly runId: string
  readonly inputId: string
}

/** Options of the plugin. */
export interface McpOptions extends PolicyOptions {
  /** Agents to expose, as a list or by name; looked up before the registry. */
  agents?: NamedRunnables
  /** Teams to expose. */
  teams?: NamedRunnables
  /** Workflows to expose. */
  workflows?: NamedRunnables
  /** Where else to look up runnables; `false`: nowhere; default `fastify.registry`. */
  registry?: Registry | false
  /** The name of the server, for programs; default `agents`. */
  name?: string
  /** Its name for people. */
  title?: string
  /** Its version; default `1.0.0`. */
  version?: string
  /** What the models of clients read about the server. */
  instructions?: string
  /** The URL of the endpoint as clients reach it, behind a proxy that changes it; default: that of each request. */
  url?: string
  /** Issuers of the tokens that `authenticate` accepts; with them, the metadata of the protected resource (RFC 9728) are served. */
  authorizationServers?: string[]
  /** The scopes that the metadata name. */
  scopes?: string[]
  /** Origins of pages that may send requests, besides those of the service itself. */
  origins?: string[]
  /**
   * The URL of a page of yours where the owner of a run gives the credentials that it asks for; default: clients are not asked for
   * credentials.
   */
  credentialsUrl?: (asked: AskedCredentials) => string
  /** What happens to a run whose client disconnects; default `continue`. */
  onDisconnect?: OnDisconnect
  /** Milliseconds after which a call becomes a task, for clients that know tasks; default 2,000. */
  taskAfter?: number
  /** Milliseconds between two questions for a task, as clients read it; default 1,000. */
  pollInterval?: number
  /** Bytes up to which an image, audio or text file is in the result itself; larger ones are linked; default 1,048,576. */
  inlineLimit?: number
  /** Bytes of a body; default that of `@svc/registry`, else 4,194,304. */
  bodyLimit?: number
  /** Levels of objects and lists in a body; default that of `@svc/registry`, else 64. */
  jsonDepth?: number
  /** Milliseconds of silence after which the reply to a call becomes a stream, and between comments that keep it alive; default that of `@svc/registry`, else 10,000. */
  heartbeat?: number
}

const HTTP_URL = '^https?://[^\\s?#]+$'
const text = Type.String({ minLength: 1 })

export const McpOptionsSchema = optionsSchema<McpOptions>({
  ...EXPOSED_OPTIONS,
  ...POLICY_OPTIONS,
  name: text,
  title: text,
  version: text,
  instructions: text,
  url: Type.String({ pattern: HTTP_URL }),
  authorizationServers: Type.Array(Type.String({ pattern: HTTP_URL }), { minItems: 1 }),
  scopes: Type.Array(text),
  origins: Type.Array(Type.String({ pattern: '^https?://[^\\s/?#]+$' })),
  credentialsUrl: functionSchema<(asked: AskedCredentials) => string>(),
  onDisconnect: OnDisconnectSchema,
  taskAfter: Type.Integer({ minimum: 0, maximum: MAX_TIMER }),
  pollInterval: Type.Integer({ minimum: 1, maximum: MAX_TIMER }),
  inlineLimit: Type.Integer({ minimum: 0, maximum: MAX_TIMER }),
  bodyLimit: SHARED_OPTIONS.bodyLimit,
  jsonDepth: SHARED_OPTIONS.jsonDepth,
  heartbeat: SHARED_OPTIONS.heartbeat
})

const DEFAULTS = Object.freeze({
  name: 'agents',
  version: '1.0.0',
  scopes: [] as readonly string[],
  origins: [] as readonly string[],
  onDisconnect: 'continue',
  taskAfter: 2_000,
  pollInterval: 1_000,
  inlineLimit: 1_048_576
})

/** Validates the options and fills in the defaults. @throws MCP_ERR_BAD_OPTION */
export function resolveOptions(given: McpOptions & RegisterOptions) {
  const { options, registerOptions } = splitRegisterOptions<McpOptions>(given)
  requireOptions(McpOptionsSchema, options, MCP_ERR_BAD_OPTION)
  return { ...DEFAULTS, ...defined(options), registerOptions }
}
export type McpSettings = ReturnType<typeof resolveOptions>
