import { createRegistry, type OpenApiDocument } from '@svc/surface'
import Fastify, { type RegisterOptions } from 'fastify'
import type { HttpOptions } from '../options.ts'
import { serve } from '../plugin.ts'
import type { OpenApi } from './open-api.ts'
import type { SwaggerOptions } from './swagger-options.ts'

/**
 * Generates the OpenAPI 3.0.3 document that the plugin would serve with these options and the currently registered
 * runnables. Opens no port and runs no middleware.
 * @param swagger default: `options.swagger`
 * @throws HTTP_ERR_BAD_OPTION, and the other errors of the plugin at start
 */
export async function generateOpenApi(
  options: HttpOptions & Pick<RegisterOptions, 'prefix'>,
  swagger: SwaggerOptions = typeof options.swagger === 'object' ? options.swagger : {}
): Promise<OpenApiDocument> {
  const app = Fastify()
  let openApi: OpenApi | undefined
  try {
    // An empty registry: the document must not depend on other runnables of the process.
    const registry = options.registry === false ? createRegistry() : options.registry
    await app.register(async (scope) => {
      const served = { ...options, swagger: { ...swagger, enabled: true } }
      openApi = await serve(scope, served, registry && { registry })
    })
    await app.ready()
    return structuredClone(openApi!.document())
  } finally {
    await app.close()
  }
}
