import type { Principal } from '@svc/contract'
import {
  basePathOf,
  ensureEngine,
  keepPrivate,
  listNamed,
  OpenReplies,
  requireFreePlace,
  requireStrictJson,
  resolveSharedOptions,
  rootOf,
  warnOfTimeouts,
  type AddressedRequest,
  type RegistryPluginOptions
} from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { createPolicy } from './auth/policy.ts'
import { requireAccess } from './auth/require-access.ts'
import { HTTP_ERR_BAD_OPTION, HTTP_ERR_REGISTERED_TWICE, HTTP_ERR_UNSUPPORTED_ENCODING } from './errors.ts'
import { createNotFoundHandler, handleError, learnMethods } from './errors/error-handler.ts'
import { allowOrigins } from './limits/cors.ts'
import { limitRate } from './limits/rate-limit.ts'
import { docsRoutes } from './openapi/docs-routes.ts'
import { createOpenApi, type OpenApi } from './openapi/open-api.ts'
import { resolveOptions, type HttpMiddleware, type HttpOptions } from './options.ts'
import { compileValidator, formatValidationErrors } from './requests/validator.ts'
import { adminRoutes } from './routes/admin.ts'
import { adminHealthRoutes } from './routes/admin-health.ts'
import { approvalsRoutes, inputsRoutes } from './routes/inputs.ts'
import { healthRoutes } from './routes/health.ts'
import { listRoutes } from './routes/list.ts'
import { runFilesRoutes } from './routes/run-files.ts'
import { runRoutes } from './routes/run.ts'
import { runsRoutes } from './routes/runs.ts'
import { webhooksRoutes } from './routes/webhooks.ts'
import { deliveriesRoutes } from './routes/deliveries.ts'
import { schedulesRoutes } from './routes/schedules.ts'
import { sessionsRoutes } from './routes/sessions.ts'
import { streamRoutes } from './routes/stream.ts'
import type { HttpScope, TypeBoxTypeProvider } from './surface.ts'
import { takeRunForms } from './uploads/take-run-forms.ts'
import { errors } from './surface-errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller; set before all other hooks of the plugin run. */
    principal: Principal
  }
}

/**
 * Adds the routes to an app, and a run engine if it has none. Resolves with the OpenAPI document of the routes if the options
 * ask for one.
 */
export async function serve(
  app: FastifyInstance,
  options: HttpOptions & RegisterOptions,
  engine?: RegistryPluginOptions
): Promise<OpenApi | undefined> {
  const settings = resolveOptions(options)
  const { registerOptions, middleware, onDisconnect } = settings
  const { cors, rateLimit, providerKeyHeaders, swagger, uploadLimits, url } = settings
  await ensureEngine(app, '@svc/http', engine)
  warnOfTimeouts(app)

  const { runs, registry } = app
  const { bodyLimit, jsonDepth, ...shared } = resolveSharedOptions(settings, runs.surfaces.shared)
  const named = listNamed(settings, HTTP_ERR_BAD_OPTION)
  const policy = await createPolicy(settings, runs.surfaces.policy, app.log)
  const documented = {
    secured: policy.identify !== undefined,
    schemes: policy.schemes,
    limited: rateLimit !== undefined,
    uploads: uploadLimits !== undefined
  }
  const replies = new OpenReplies()

  let openApi: OpenApi | undefined

  // Encapsulated: nothing in this scope changes the app.
  await app.register(async (plain) => {
    const exposed = runs.surfaces.add({
      surface: `@svc/http ${requireOwnPrefix(plain)}`,
      registry: settings.registry ?? registry,
      named,
      wire: {
        name: 'http',
        path: plain.prefix || '/',
        ...(swagger && { document: plain.prefix + swagger.specPath })
      },
      policy
    })
    const place = { url: url?.replace(/\/+$/, ''), prefix: plain.prefix.replace(/\/+$/, '') }
    const baseOf = (request: AddressedRequest) => basePathOf(place, request)
    const surface = {
      runs,
      exposed,
      policy,
      errors,
      replies,
      baseOf,
      providerKeyHeaders,
      onDisconnect,
      ...shared
    }
    const scope = plain.withTypeProvider<TypeBoxTypeProvider>()
    scope.setErrorHandler(handleError)
    scope.setSchemaErrorFormatter(formatValidationErrors)

    keepPrivate(scope)
    if (cors) await allowOrigins(scope, cors)
    // Without a prefix, unmatched paths belong to the app.
    if (scope.prefix !== app.prefix) scope.setNotFoundHandler(createNotFoundHandler(learnMethods(scope)))
    requireAccess(scope, policy)
    requireStrictJson(scope, {
      bodyLimit,
      jsonDepth,
      ignoresQueries: ({ config }) => config?.access === 'open',
      compile: compileValidator,
      errors: {
        BadJson: errors.BadJson,
        BadRequest: errors.BadRequest,
        UnsupportedMedia: HTTP_ERR_UNSUPPORTED_ENCODING
      }
    })
    if (rateLimit) await limitRate(scope, rateLimit, runs.stores.counters)
    for (const each of middleware) addMiddleware(scope, each)

    if (swagger) openApi = createOpenApi(plain, { ...documented, exposed, settings: swagger })
    // A scope of their own: no other route accepts forms.
    await scope.register(async (starting: HttpScope) => {
      if (uploadLimits !== undefined) await takeRunForms(starting, uploadLimits, bodyLimit, jsonDepth)
      runRoutes(starting, surface)
      streamRoutes(starting, surface)
    })
    listRoutes(scope, surface)
    runsRoutes(scope, surface)
    runFilesRoutes(scope, surface)
    approvalsRoutes(scope, surface)
    inputsRoutes(scope, surface)
    sessionsRoutes(scope, surface)
    schedulesRoutes(scope, surface)
    webhooksRoutes(scope, surface)
    deliveriesRoutes(scope, surface)
    if (policy.hasAdmin) {
      adminRoutes(scope, surface)
      adminHealthRoutes(scope, surface)
    }
    healthRoutes(scope, surface)
    if (swagger && openApi) await docsRoutes(plain, openApi, swagger, documented.secured)

    replies.endWith(scope)
  }, registerOptions)
  return openApi
}

// Must run before the 404 handler is set: a second one for a prefix ends the process.
function requireOwnPrefix(scope: FastifyInstance): string {
  const place = `prefix "${scope.prefix.replace(/\/+$/, '') || '/'}"`
  requireFreePlace(rootOf(scope), '@svc/http', place, (taken) => new HTTP_ERR_REGISTERED_TWICE(taken))
  return place
}

function addMiddleware(scope: HttpScope, middleware: HttpMiddleware): void {
  const { onRequest, preHandler } = typeof middleware === 'function' ? { onRequest: middleware } : middleware
  if (onRequest !== undefined) scope.addHook('onRequest', onRequest)
  if (preHandler !== undefined) scope.addHook('preHandler', preHandler)
}

/** Agents, teams and workflows over HTTP. */
async function http(app: FastifyInstance, options: HttpOptions & RegisterOptions): Promise<void> {
  await serve(app, options)
}

export default fp(http, { name: '@svc/http', fastify: '5.x' })
