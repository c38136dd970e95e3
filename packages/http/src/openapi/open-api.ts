import type { SecuritySchemes } from '@svc/registry'
import { MessageInputSchema, type Exposed } from '@svc/registry/kit'
import type { FastifyInstance } from 'fastify'
import { describeRefusals } from './describe-access.ts'
import { addMessageInput, describeNames } from './describe-names.ts'
import { TAGS } from './describe-operation.ts'
import { EXAMPLES } from './examples.ts'
import { describeUploads } from './describe-uploads.ts'
import { hoistReplies } from './hoist-replies.ts'
import { describeRoutes, type OpenApiDocument } from '@svc/registry/wire-kit'
import type { ResolvedSwagger } from './swagger-options.ts'

/** The sources of a document besides the routes of its scope. */
export interface OpenApiSource {
  settings: ResolvedSwagger
  exposed: Pick<Exposed, 'list' | 'onChange'>
  /** Whether the routes require credentials. */
  secured?: boolean | undefined
  /** The accepted credentials, if `authenticate` describes them. */
  schemes?: SecuritySchemes | undefined
  /** Whether requests are rate limited. */
  limited?: boolean | undefined
  /** Whether a run's body may be `multipart/form-data`. */
  uploads?: boolean | undefined
}

/** The live document of a scope. */
export interface OpenApi {
  /** The current document. Shared: do not mutate. Available once the app is ready. */
  document(): OpenApiDocument
}

/**
 * Describes the routes added to the scope after this call, and nothing else of the app: the host's own `@fastify/swagger`,
 * or another instance of this plugin, keeps a separate document.
 */
export function createOpenApi(scope: FastifyInstance, source: OpenApiSource): OpenApi {
  const { title, description, version, servers, routePrefix } = source.settings
  const describe = describeRoutes(scope, {
    title,
    version,
    ...(description !== undefined && { description }),
    tags: TAGS,
    schemes: source.schemes,
    servers,
    pathPrefix: routePrefix,
    schemas: [MessageInputSchema],
    examples: EXAMPLES
  })
  let base: OpenApiDocument | undefined
  let current: OpenApiDocument | undefined
  // An unprotected document must not reveal names that require credentials.
  const named = source.settings.protect || !source.secured
  // A registry without change events is read again on every call.
  const off = source.exposed.onChange(() => (current = undefined))
  scope.addHook('onClose', async () => off?.())

  return {
    document() {
      if (current !== undefined && off !== undefined) return current
      base ??= finish(describe(), source)
      return (current = describeNames(base, source.exposed, named))
    }
  }
}

// What the options of the plugin add.
function finish(routes: OpenApiDocument, { secured, limited, uploads }: OpenApiSource): OpenApiDocument {
  const schemas = addMessageInput(routes.components.schemas)
  const document = { ...routes, components: { ...routes.components, schemas } }
  if (uploads) describeUploads(document)
  if (secured) describeRefusals(document, [401, 403])
  if (limited) describeRefusals(document, [429])
  return hoistReplies(document)
}
