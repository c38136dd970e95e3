import Fastify, { type RegisterOptions } from 'fastify'
import type { HttpOptions } from '../options.ts'
import http from '../plugin.ts'
import type { OpenApiDocument } from './open-api-document.ts'
import { resolveSwagger, type SwaggerOptions } from './swagger-options.ts'

/**
 * The OpenAPI 3.0.3 document that the plugin would serve with these options, its `prefix` among them, for what is
 * registered now. Nothing listens, and no middleware runs.
 * @param swagger default: the options' own
 * @throws HTTP_ERR_BAD_OPTION
 */
export async function generateOpenApi(
  options: HttpOptions & Pick<RegisterOptions, 'prefix'>,
  swagger: SwaggerOptions = typeof options.swagger === 'object' ? options.swagger : {}
): Promise<OpenApiDocument> {
  const open = { ...swagger, enabled: true, protect: false }
  const { specPath } = resolveSwagger(open)!
  const app = Fastify()
  try {
    const { rateLimit: _, ...rest } = options
    await app.register(http, { ...rest, middleware: [], swagger: open })
    const response = await app.inject(`${options.prefix ?? ''}${specPath}`)
    if (response.statusCode !== 200) throw new Error(response.body)
    return response.json<OpenApiDocument>()
  } finally {
    await app.close()
  }
}
