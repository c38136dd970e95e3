import { defined, type Principal } from '@svc/contract'
import {
  basePathOf,
  ensureEngine,
  openSurface,
  type RegistryPluginOptions,
  type WireDescription
} from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { createPolicy } from './auth/policy.ts'
import { requireAccess } from './auth/require-access.ts'
import { createNotFoundHandler, handleError, learnMethods } from './errors/error-handler.ts'
import { allowOrigins } from './limits/cors.ts'
import { limitRate } from './limits/rate-limit.ts'
import { docsRoutes } from './openapi/docs-routes.ts'
import { createOpenApi, type OpenApi } from './openapi/open-api.ts'
import { resolveOptions, type HttpMiddleware, type HttpOptions } from './options.ts'
import { compileValidator, formatValidationErrors } from './requests/validator.ts'
import { adminRoutes } from './routes/admin.ts'
import { adminHealthRoutes } from './routes/admin-health.ts'
import { inputsRoutes } from './routes/inputs.ts'
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
import type { HttpScope, Surface, TypeBoxTypeProvider } from './surface.ts'
import { takeRunForms } from './uploads/take-run-forms.ts'
import { errors } from './surface-errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller; set before all other hooks of the plugin run. */
    principal: Principal
  }
}

const WIRE = {
  plugin: '@svc/http',
  name: 'http',
  path: '',
  errors,
  compile: compileValidator,
  ignoresQueries: ({ config }) => config?.access === 'open'
} satisfies WireDescription

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
  const { middleware, cors, rateLimit, swagger, uploadLimits } = settings
  await ensureEngine(app, WIRE.plugin, engine)
  const policy = await createPolicy(settings, app.runs.surfaces.policy, app.log)
  const secured = policy.identify !== undefined
  let openApi: OpenApi | undefined
  const wire = { ...WIRE, policy, ...defined({ document: swagger?.specPath }) }
  await openSurface(app, wire, settings, {
    async prepare(scope, { runs }) {
      scope.setErrorHandler(handleError)
      scope.setSchemaErrorFormatter(formatValidationErrors)
      if (cors) await allowOrigins(scope, cors)
      // Without a prefix, unmatched paths belong to the app.
      if (scope.prefix !== app.prefix) scope.setNotFoundHandler(createNotFoundHandler(learnMethods(scope)))
      requireAccess(scope, policy)
      if (rateLimit) await limitRate(scope, rateLimit, runs.stores.counters)
      for (const each of middleware) addMiddleware(scope, each)
    },
    // Each route declares who may call it.
    guard: () => {},
    async add(plain, shared) {
      const { bodyLimit, jsonDepth } = shared
      const baseOf: Surface['baseOf'] = (request) => basePathOf(shared, request)
      const surface: Surface = { ...shared, policy, baseOf }
      const scope = plain.withTypeProvider<TypeBoxTypeProvider>()
      if (swagger)
        openApi = createOpenApi(plain, {
          secured,
          schemes: policy.schemes,
          limited: rateLimit !== undefined,
          uploads: uploadLimits !== undefined,
          exposed: surface.exposed,
          settings: swagger
        })
      // A scope of their own: no other route accepts forms.
      await scope.register(async (starting: HttpScope) => {
        if (uploadLimits !== undefined) await takeRunForms(starting, uploadLimits, bodyLimit, jsonDepth)
        runRoutes(starting, surface)
        streamRoutes(starting, surface)
      })
      listRoutes(scope, surface)
      runsRoutes(scope, surface)
      runFilesRoutes(scope, surface)
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
      if (swagger && openApi) await docsRoutes(plain, openApi, swagger, secured)
    }
  })
  return openApi
}

function addMiddleware(scope: FastifyInstance, middleware: HttpMiddleware): void {
  const { onRequest, preHandler } = typeof middleware === 'function' ? { onRequest: middleware } : middleware
  if (onRequest !== undefined) scope.addHook('onRequest', onRequest)
  if (preHandler !== undefined) scope.addHook('preHandler', preHandler)
}

/** Agents, teams and workflows over HTTP. */
async function http(app: FastifyInstance, options: HttpOptions & RegisterOptions): Promise<void> {
  await serve(app, options)
}

export default fp(http, { name: '@svc/http', fastify: '5.x' })
