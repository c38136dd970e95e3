import type { FastifyCorsOptions } from '@fastify/cors'
import type { RateLimitPluginOptions } from '@fastify/rate-limit'
import { Type, type Static } from '@sinclair/typebox'
import type { OnDisconnect } from '@svc/registry'
import {
  DEFAULT_PROVIDER_KEY_HEADERS,
  EXPOSED_OPTIONS,
  millisecondsSchema,
  OnDisconnectSchema,
  POLICY_OPTIONS,
  requireOptions
} from '@svc/registry/kit'
import type { onRequestHookHandler, preHandlerHookHandler, RegisterOptions } from 'fastify'
import { JwtOptionsSchema } from './auth/jwt-options.ts'
import { RbacOptionsSchema } from './auth/rbac-options.ts'
import { HTTP_ERR_BAD_OPTION } from './errors.ts'
import { CorsOptionsSchema, requireOrigin } from './limits/cors-options.ts'
import { RateLimitOptionsSchema } from './limits/rate-limit.ts'
import { resolveSwagger, SwaggerOptionsSchema, type SwaggerOptions } from './openapi/swagger-options.ts'
import { FileUploadOptionsSchema, resolveUploadLimits } from './uploads/file-upload-options.ts'

/** Hooks that run before every route of the plugin. */
export type HttpMiddleware =
  | onRequestHookHandler
  | { onRequest?: onRequestHookHandler; preHandler?: preHandlerHookHandler }

const fn = Type.Function([], Type.Unknown())
const middleware = Type.Union([
  fn,
  Type.Object(
    { onRequest: Type.Optional(fn), preHandler: Type.Optional(fn) },
    { additionalProperties: false }
  )
])

/** Options of the plugin. */
export const HttpOptionsSchema = Type.Object(
  {
    ...EXPOSED_OPTIONS,
    jwt: Type.Optional(JwtOptionsSchema),
    rbac: Type.Optional(RbacOptionsSchema),
    ...POLICY_OPTIONS,
    admin: Type.Optional(
      Type.Boolean({
        description: 'Whether to add the `/admin` routes; default: with authentication'
      })
    ),
    cors: Type.Optional(
      Type.Unsafe<boolean | FastifyCorsOptions>(
        Type.Union([Type.Boolean(), CorsOptionsSchema], {
          description: '`true`: pages of every origin, without credentials; or options of `@fastify/cors`'
        })
      )
    ),
    rateLimit: Type.Optional(
      Type.Unsafe<RateLimitPluginOptions>({
        ...RateLimitOptionsSchema,
        description: 'Options of `@fastify/rate-limit`; default: no limit'
      })
    ),
    providerKeyHeaders: Type.Optional(
      Type.Record(Type.String({ pattern: '^[a-z0-9-]+$' }), Type.String({ minLength: 1 }), {
        additionalProperties: false,
        description: 'Header, in lower case → the provider of the key in it; `x-api-key` always works'
      })
    ),
    middleware: Type.Optional(
      Type.Unsafe<HttpMiddleware | readonly HttpMiddleware[]>(
        Type.Union([middleware, Type.Array(middleware)], {
          description: '`onRequest` functions, or `{ onRequest?, preHandler? }`, for all routes of the plugin'
        })
      )
    ),
    fileUpload: Type.Optional(
      Type.Union([Type.Literal(true), FileUploadOptionsSchema], {
        description: '`true` or FileUploadOptions: accept `multipart/form-data` for runs; default: not'
      })
    ),
    limits: Type.Optional(
      Type.Object(
        {
          bodyLimit: Type.Optional(
            Type.Integer({ minimum: 1, description: 'Bytes of a request body; default 1,048,576' })
          ),
          jsonDepth: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 1000,
              description: 'Levels of objects and lists in a request body; default 64'
            })
          )
        },
        { additionalProperties: false, description: '`{ bodyLimit?, jsonDepth? }`' }
      )
    ),
    onDisconnect: Type.Optional(
      Type.Unsafe<OnDisconnect>({
        ...OnDisconnectSchema,
        description: '`cancel` or `continue`, for runs whose body does not choose; default `cancel`'
      })
    ),
    swagger: Type.Optional(
      Type.Unsafe<boolean | SwaggerOptions>(
        Type.Union([Type.Boolean(), SwaggerOptionsSchema], {
          description: 'The OpenAPI document and its page: `true` or SwaggerOptions; default `false`'
        })
      )
    ),
    heartbeat: Type.Optional(
      millisecondsSchema('Milliseconds between comments on a silent event stream; default 15,000')
    )
  },
  { additionalProperties: false }
)
export type HttpOptions = Static<typeof HttpOptionsSchema>

/** Validates the options and fills in the defaults. @throws HTTP_ERR_BAD_OPTION */
export function resolveOptions(given: HttpOptions & RegisterOptions) {
  const { prefix, logLevel, logSerializers, ...options } = given
  const { limits, middleware: hooks = [], fileUpload, cors } = options
  requireOptions(HttpOptionsSchema, options, HTTP_ERR_BAD_OPTION)
  if (typeof cors === 'object') requireOrigin(cors)
  // Fastify's own options, for the scope of the routes.
  const registerOptions: RegisterOptions = {
    ...(prefix !== undefined && { prefix }),
    ...(logLevel !== undefined && { logLevel }),
    ...(logSerializers !== undefined && { logSerializers })
  }
  return {
    ...options,
    uploadLimits: fileUpload && resolveUploadLimits(fileUpload),
    middleware: (Array.isArray(hooks) ? hooks : [hooks]) as readonly HttpMiddleware[],
    bodyLimit: limits?.bodyLimit ?? 1_048_576,
    jsonDepth: limits?.jsonDepth ?? 64,
    onDisconnect: options.onDisconnect ?? 'cancel',
    heartbeat: options.heartbeat ?? 15_000,
    swagger: resolveSwagger(options.swagger),
    providerKeyHeaders: options.providerKeyHeaders ?? DEFAULT_PROVIDER_KEY_HEADERS,
    registerOptions
  }
}
