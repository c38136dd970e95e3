import type { FastifyCorsOptions } from '@fastify/cors'
import type { RateLimitPluginOptions } from '@fastify/rate-limit'
import { Type, type TSchema } from '@sinclair/typebox'
import {
  defined,
  functionSchema,
  OnDisconnectSchema,
  optionsSchema,
  requireOptions,
  type Authenticate,
  type Authorize,
  type OnDisconnect
} from '@svc/contract'
import {
  DEFAULT_PROVIDER_KEY_HEADERS,
  EXPOSED_OPTIONS,
  POLICY_OPTIONS,
  SHARED_OPTIONS,
  splitRegisterOptions,
  type NamedRunnables,
  type Registry
} from '@svc/surface'
import type { onRequestHookHandler, preHandlerHookHandler, RegisterOptions } from 'fastify'
import { JwtOptionsSchema, type JwtOptions } from './auth/jwt-options.ts'
import { RbacOptionsSchema, type RbacOptions } from './auth/rbac-options.ts'
import { HTTP_ERR_BAD_OPTION } from './errors.ts'
import { CorsOptionsSchema, requireOrigin } from './limits/cors.ts'
import { RateLimitOptionsSchema } from './limits/rate-limit.ts'
import { resolveSwagger, SwaggerOptionsSchema, type SwaggerOptions } from './openapi/swagger-options.ts'
import {
  FileUploadOptionsSchema,
  resolveUploadLimits,
  type FileUploadOptions
} from './uploads/read-uploads.ts'

/** Hooks by the point of a request at which they run. */
interface HttpHooks {
  onRequest?: onRequestHookHandler
  preHandler?: preHandlerHookHandler
}

/** Hooks that run before every route of the plugin. */
export type HttpMiddleware = onRequestHookHandler | HttpHooks

/** Limits of request bodies. */
export interface HttpLimits {
  /** Bytes of a request body; default that of `@svc/registry`, else 1,048,576. */
  bodyLimit?: number
  /** Levels of objects and lists in a request body; default that of `@svc/registry`, else 64. */
  jsonDepth?: number
}

/** Options of the plugin. */
export interface HttpOptions {
  /** Agents to expose, as a list or by name; looked up before the registry. */
  agents?: NamedRunnables
  /** Teams to expose, as a list or by name; looked up before the registry. */
  teams?: NamedRunnables
  /** Workflows to expose, as a list or by name; looked up before the registry. */
  workflows?: NamedRunnables
  /** The registry to look up other runnables in; `false`: none; default `fastify.registry`. */
  registry?: Registry | false
  /** Authentication by JSON Web Tokens. */
  jwt?: JwtOptions
  /** Access control by the scopes of a token. */
  rbac?: RbacOptions
  /** Credentials → principal; `false`: everyone is anonymous; default that of `@svc/registry`. */
  authenticate?: Authenticate | false
  /** Who may do what to which runnable; `false`: everyone may do everything except administration; default that of `@svc/registry`. */
  authorize?: Authorize | false
  /** Whether to add the `/admin` routes; default: with authentication. */
  admin?: boolean
  /** `true`: pages of every origin, without credentials; or options of `@fastify/cors`. */
  cors?: boolean | FastifyCorsOptions
  /** Options of `@fastify/rate-limit`; default: no limit. */
  rateLimit?: RateLimitPluginOptions
  /** The URL of the prefix as clients reach it, behind a proxy that changes it; default: links are paths of the request's host. */
  url?: string
  /** Header, in lower case → the provider of the key in it; `x-api-key` always works. */
  providerKeyHeaders?: Record<string, string>
  /** `onRequest` functions, or `{ onRequest?, preHandler? }`, for all routes of the plugin. */
  middleware?: HttpMiddleware | readonly HttpMiddleware[]
  /** `true` or FileUploadOptions: accept `multipart/form-data` for runs; default: not. */
  fileUpload?: boolean | FileUploadOptions
  /** Limits of request bodies. */
  limits?: HttpLimits
  /** `cancel` or `continue`, for runs whose body does not choose; default `cancel`. */
  onDisconnect?: OnDisconnect
  /** Whether runs take `instructions` of their callers; default that of `@svc/registry`, else `false`. */
  clientInstructions?: boolean
  /** Whether runs take `tools` that their callers serve; default that of `@svc/registry`, else `false`. */
  clientTools?: boolean
  /** The OpenAPI document and its page: `true` or SwaggerOptions; default `false`. */
  swagger?: boolean | SwaggerOptions
  /** Milliseconds between comments on a silent event stream; default that of `@svc/registry`, else 10,000. */
  heartbeat?: number
}

/** The same schema with the description that readers of the published schema get. */
function described<Schema extends TSchema>(description: string, schema: Schema): Schema {
  return { ...schema, description }
}

const middleware = Type.Union([
  functionSchema<onRequestHookHandler>(),
  optionsSchema<HttpHooks>({
    onRequest: functionSchema<onRequestHookHandler>(),
    preHandler: functionSchema<preHandlerHookHandler>()
  })
])

export const HttpOptionsSchema = optionsSchema<HttpOptions>({
  ...EXPOSED_OPTIONS,
  jwt: described('Authentication by JSON Web Tokens', JwtOptionsSchema),
  rbac: described('Access control by the scopes of a token', RbacOptionsSchema),
  ...POLICY_OPTIONS,
  admin: Type.Boolean({ description: 'Whether to add the `/admin` routes; default: with authentication' }),
  cors: Type.Union([Type.Boolean(), CorsOptionsSchema], {
    description: '`true`: pages of every origin, without credentials; or options of `@fastify/cors`'
  }),
  rateLimit: described('Options of `@fastify/rate-limit`; default: no limit', RateLimitOptionsSchema),
  url: Type.String({
    pattern: '^https?://[^\\s?#]+$',
    description:
      'The URL of the prefix as clients reach it, behind a proxy that changes it; default: links are paths of the request’s host'
  }),
  providerKeyHeaders: Type.Record(Type.String({ pattern: '^[a-z0-9-]+$' }), Type.String({ minLength: 1 }), {
    additionalProperties: false,
    description: 'Header, in lower case → the provider of the key in it; `x-api-key` always works'
  }),
  middleware: Type.Union([middleware, Type.Array(middleware)], {
    description: '`onRequest` functions, or `{ onRequest?, preHandler? }`, for all routes of the plugin'
  }),
  fileUpload: Type.Union([Type.Boolean(), FileUploadOptionsSchema], {
    description: '`true` or FileUploadOptions: accept `multipart/form-data` for runs; default: not'
  }),
  limits: described(
    '`{ bodyLimit?, jsonDepth? }`',
    optionsSchema<HttpLimits>({
      bodyLimit: Type.Integer({ minimum: 1 }),
      jsonDepth: SHARED_OPTIONS.jsonDepth
    })
  ),
  onDisconnect: described(
    '`cancel` or `continue`, for runs whose body does not choose; default `cancel`',
    OnDisconnectSchema
  ),
  clientInstructions: SHARED_OPTIONS.clientInstructions,
  clientTools: SHARED_OPTIONS.clientTools,
  swagger: Type.Union([Type.Boolean(), SwaggerOptionsSchema], {
    description: 'The OpenAPI document and its page: `true` or SwaggerOptions; default `false`'
  }),
  heartbeat: SHARED_OPTIONS.heartbeat
})

const DEFAULTS = Object.freeze({
  onDisconnect: 'cancel',
  providerKeyHeaders: DEFAULT_PROVIDER_KEY_HEADERS
})

/** Validates the options and fills in the defaults. @throws HTTP_ERR_BAD_OPTION */
export function resolveOptions(given: HttpOptions & RegisterOptions) {
  const { options, registerOptions } = splitRegisterOptions<HttpOptions>(given)
  const { limits, middleware: hooks = [], fileUpload, cors } = options
  requireOptions(HttpOptionsSchema, options, HTTP_ERR_BAD_OPTION)
  if (typeof cors === 'object') requireOrigin(cors)
  return {
    ...DEFAULTS,
    ...defined(options),
    ...defined({ bodyLimit: limits?.bodyLimit, jsonDepth: limits?.jsonDepth }),
    uploadLimits: fileUpload ? resolveUploadLimits(fileUpload) : undefined,
    middleware: (Array.isArray(hooks) ? hooks : [hooks]) as readonly HttpMiddleware[],
    swagger: resolveSwagger(options.swagger),
    registerOptions
  }
}
