import { Type } from '@sinclair/typebox'
import { defined, optionsSchema } from '@svc/contract'
import { HTTP_ERR_BAD_OPTION } from '../errors.ts'

/** Options of the OpenAPI document and its page. */
export interface SwaggerOptions {
  /** Whether both are served; default `true`. */
  enabled?: boolean
  /** Title of the API; default `Service API`. */
  title?: string
  /** Markdown. */
  description?: string
  /** Version of the API; default `1.0.0`. */
  version?: string
  /** Prepended to the documented paths, for a proxy that rewrites. */
  routePrefix?: string
  /** Base URLs of the paths; default `[{ url: '/' }]`. */
  servers?: { url: string; description?: string }[]
  /** Path of the page; default `/docs`. */
  docsPath?: string
  /** Path of the document; default `/docs/spec.json`. */
  specPath?: string
  /** Whether page and document require a valid token; default `false`. */
  protect?: boolean
}

// Plain segments: no parameters, no wildcard, no slash at the end.
const path = Type.String({ pattern: '^(/[\\w.~-]+)+$' })
const server = Type.Object(
  {
    url: Type.String({ minLength: 1, pattern: '^[^\\s{}]+$' }),
    description: Type.Optional(Type.String())
  },
  { additionalProperties: false }
)

export const SwaggerOptionsSchema = optionsSchema<SwaggerOptions>({
  enabled: Type.Boolean(),
  title: Type.String({ minLength: 1 }),
  description: Type.String(),
  version: Type.String({ minLength: 1 }),
  routePrefix: path,
  servers: Type.Array(server, { minItems: 1 }),
  docsPath: path,
  specPath: path,
  protect: Type.Boolean()
})

const DEFAULTS = Object.freeze({
  title: 'Service API',
  version: '1.0.0',
  routePrefix: '',
  docsPath: '/docs',
  specPath: '/docs/spec.json',
  protect: false
})

/** Options with their defaults. */
export type ResolvedSwagger = ReturnType<typeof withDefaults>

/** Fills in the defaults; undefined if disabled. @throws HTTP_ERR_BAD_OPTION */
export function resolveSwagger(given: boolean | SwaggerOptions | undefined): ResolvedSwagger | undefined {
  if (typeof given !== 'object') return given === true ? withDefaults({}) : undefined
  const { enabled = true, ...options } = given
  return enabled ? withDefaults(options) : undefined
}

function withDefaults(options: Omit<SwaggerOptions, 'enabled'>) {
  const settings = { ...DEFAULTS, servers: [{ url: '/' }], description: undefined, ...defined(options) }
  const { docsPath, specPath } = settings
  // The page serves its own files under its path.
  if (specPath === docsPath || specPath === `${docsPath}/yaml` || specPath.startsWith(`${docsPath}/static/`))
    throw new HTTP_ERR_BAD_OPTION(`swagger/specPath: "${specPath}" is taken by the page at "${docsPath}"`)
  return settings
}
