import { createRegistry } from '@svc/registry'
import Fastify, { type RegisterOptions } from 'fastify'
import type { HttpOptions } from '../options.ts'
import { serve } from '../plugin.ts'
import type { OpenApiDocument } from './open-api-document.ts'
import type { OpenApi } from './open-api.ts'
import type { SwaggerOptions } from './swagger-options.ts'

/**
 * The OpenAPI 3.0.3 document that the plugin would serve with these options, its `prefix` among them, for what is
 * registered now. Nothing listens, and no middleware runs.
 * @param swagger default: the options' own
 * @throws HTTP_ERR_BAD_OPTION, and whatever else the plugin would throw at start
 */
export async function generateOpenApi(
  options: HttpOptions & Pick<RegisterOptions, 'prefix'>,
  swagger: SwaggerOptions = typeof options.swagger === 'object' ? options.swagger : {}
): Promise<OpenApiDocument> {
  const app = Fastify()
  let openApi: OpenApi | undefined
  try {
    // What else the process has registered has no part in it.
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
