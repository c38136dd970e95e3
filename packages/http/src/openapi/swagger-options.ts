import { Type, type Static } from '@sinclair/typebox'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'

// A path of plain segments: no parameters, no wildcard, no slash at the end.
const path = (description: string) => Type.Optional(Type.String({ pattern: '^(/[\\w.~-]+)+$', description }))

/** Options of the OpenAPI document and its page. */
export const SwaggerOptionsSchema = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean({ description: 'Whether both are served; default true' })),
    title: Type.Optional(Type.String({ minLength: 1, description: 'Default `Service API`' })),
    description: Type.Optional(Type.String({ description: 'Markdown' })),
    version: Type.Optional(Type.String({ minLength: 1, description: 'Version of the API; default `1.0.0`' })),
    routePrefix: path('Prepended to the documented paths, for a proxy that rewrites'),
    servers: Type.Optional(
      Type.Array(
        Type.Object(
          {
            url: Type.String({ minLength: 1, pattern: '^[^\\s{}]+$' }),
            description: Type.Optional(Type.String())
          },
          { additionalProperties: false }
        ),
        { minItems: 1, description: 'Base URLs of the paths; default `[{ url: "/" }]`' }
      )
    ),
    docsPath: path('Path of the page; default `/docs`'),
    specPath: path('Path of the document; default `/docs/spec.json`'),
    protect: Type.Optional(
      Type.Boolean({ description: 'Whether page and document require a valid token; default false' })
    )
  },
  { additionalProperties: false }
)
export type SwaggerOptions = Static<typeof SwaggerOptionsSchema>

/** Options with their defaults. */
export type ResolvedSwagger = ReturnType<typeof withDefaults>

/** Fills in the defaults; undefined if disabled. @throws HTTP_ERR_BAD_OPTION */
export function resolveSwagger(given: boolean | SwaggerOptions | undefined): ResolvedSwagger | undefined {
  if (typeof given !== 'object') return given === true ? withDefaults({}) : undefined
  const { enabled = true, ...options } = given
  return enabled ? withDefaults(options) : undefined
}

function withDefaults(options: SwaggerOptions) {
  const docsPath = options.docsPath ?? '/docs'
  const specPath = options.specPath ?? '/docs/spec.json'
  // The page serves its own files under its path.
  if (specPath === docsPath || specPath === `${docsPath}/yaml` || specPath.startsWith(`${docsPath}/static/`))
    throw new HTTP_ERR_BAD_OPTION(`swagger/specPath: "${specPath}" is taken by the page at "${docsPath}"`)
  return {
    title: options.title ?? 'Service API',
    description: options.description,
    version: options.version ?? '1.0.0',
    routePrefix: options.routePrefix ?? '',
    servers: options.servers ?? [{ url: '/' }],
    docsPath,
    specPath,
    protect: options.protect ?? false
  }
}
