import swaggerPlugin from '@fastify/swagger'
import type { SecuritySchemes } from '@svc/registry'
import { MessageInputSchema, type Exposed } from '@svc/registry/kit'
import type { FastifyInstance } from 'fastify'
import { describeRefusals, describeSecurity } from './describe-access.ts'
import { addMessageInput, describeNames } from './describe-names.ts'
import { TAGS } from './describe-operation.ts'
import { EXAMPLES } from './examples.ts'
import { describeUploads } from './describe-uploads.ts'
import { hoistReplies } from './hoist-replies.ts'
import {
  componentOf,
  hoistSchemas,
  type Components,
  type OpenApiDocument,
  type Operation,
  type Schema
} from '@svc/registry/wire-kit'
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
export async function createOpenApi(scope: FastifyInstance, source: OpenApiSource): Promise<OpenApi> {
  const { title, description, version, servers, routePrefix } = source.settings
  await scope.register(swaggerPlugin, {
    openapi: {
      openapi: '3.0.3',
      info: { title, version, ...(description !== undefined && { description }) },
      servers: [...servers],
      components: { schemas: { MessageInput: MessageInputSchema as object } }
    },
    stripBasePath: false,
    transform: ({ schema, url }) => ({ schema, url: routePrefix + url })
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
      base ??= finish(scope.swagger() as unknown as OpenApiDocument, source)
      return (current = describeNames(base, source.exposed, named))
    }
  }
}

// The static part of the document.
function finish(raw: OpenApiDocument, source: OpenApiSource): OpenApiDocument {
  const { secured = false, schemes, limited = false, uploads = false } = source
  const { openapi, info, servers, paths, components } = JSON.parse(JSON.stringify(raw)) as OpenApiDocument
  const found: Components = new Map()
  hoistSchemas(components.schemas['MessageInput'], found, EXAMPLES)
  const hoisted = hoistSchemas(paths, found, EXAMPLES)
  for (const operation of operationsOf(hoisted)) describeParameters(operation, found)
  const document: OpenApiDocument = {
    openapi,
    info,
    servers,
    tags: TAGS,
    security: [],
    paths: hoisted,
    components: { schemas: addMessageInput(sorted(found)) }
  }
  if (uploads) describeUploads(document)
  if (secured) describeRefusals(document, [401, 403])
  if (limited) describeRefusals(document, [429])
  return hoistReplies(describeSecurity(document, schemes))
}

/** Every operation of some paths. */
function operationsOf(paths: OpenApiDocument['paths']): Operation[] {
  return Object.values(paths).flatMap((path) => Object.values(path))
}

function describeParameters({ parameters = [] }: Operation, components: Components): void {
  for (const parameter of parameters) {
    // TypeBox marks properties with a default as required; such parameters are optional.
    if (parameter.schema['default'] !== undefined) parameter.required = false
    const schema = componentOf(parameter.schema, components) ?? parameter.schema
    if (parameter.in === 'query' && schema['type'] === 'object')
      Object.assign(parameter, { style: 'deepObject', explode: true })
  }
}

function sorted(found: Components): Record<string, Schema> {
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}
