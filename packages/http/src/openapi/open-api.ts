import { STATUS_CODES } from 'node:http'
import { MessageInputSchema, type SecuritySchemes } from '@svc/contract'
import {
  describeRoutes,
  refTo,
  type Exposed,
  type OpenApiDocument,
  type Response,
  type Schema
} from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { addMessageInput, describeNames, requireOneOf } from './describe-names.ts'
import { TAGS } from './describe-operation.ts'
import { EXAMPLES } from './examples.ts'
import type { ResolvedSwagger } from './swagger-options.ts'
import { REASONS, type ErrorStatus } from './describe-replies.ts'
import { JSON_FIELDS } from '../uploads/take-run-forms.ts'

const files: Schema = {
  type: 'array',
  items: { type: 'string', format: 'binary' },
  description: 'Added to the message in this order'
}

// Else a list would be one field per item.
const encoding = Object.fromEntries(JSON_FIELDS.map((name) => [name, { contentType: 'application/json' }]))

/** Adds `multipart/form-data` to the body of every run: its fields as text or JSON, its files in `files`. */
function describeUploads(document: OpenApiDocument): void {
  const { schemas } = document.components
  const { RunBody } = schemas
  if (RunBody === undefined) return
  const input: Schema = { type: 'string', description: 'The text of the message' }
  const { input: _json, ...fields } = RunBody.properties ?? {}
  const form = { type: 'object', properties: { input, files, ...fields }, additionalProperties: false }
  schemas['RunForm'] ??= requireOneOf(form, { input, files })
  for (const path of Object.values(document.paths)) {
    for (const { requestBody } of Object.values(path)) {
      if (requestBody?.content['application/json']?.schema.$ref !== refTo('RunBody')) continue
      requestBody.content['multipart/form-data'] ??= { schema: { $ref: refTo('RunForm') }, encoding }
    }
  }
}

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

/** Adds error replies to every operation that is not open (`security: []`). */
function describeRefusals(document: OpenApiDocument, statuses: readonly ErrorStatus[]): void {
  for (const path of Object.values(document.paths)) {
    for (const { security, responses } of Object.values(path)) {
      if (security?.length === 0) continue
      for (const status of statuses) responses[status] ??= refusal(REASONS[status])
    }
  }
}

function refusal(description: string): Response {
  return {
    description,
    content: {
      'application/json': { schema: { $ref: refTo('Error') } },
      'application/problem+json': { schema: { $ref: refTo('Problem') } }
    }
  }
}

/** Returns a copy of a document with identical error replies as components. */
function hoistReplies(document: OpenApiDocument): OpenApiDocument {
  const responses: Record<string, Response> = {}
  const hoisted = structuredClone(document)
  for (const path of Object.values(hoisted.paths)) {
    for (const operation of Object.values(path)) {
      for (const [status, response] of Object.entries(operation.responses)) {
        if (response.content?.['application/problem+json'] === undefined) continue
        const name = nameOf(status)
        responses[name] ??= response
        if (JSON.stringify(responses[name]) !== JSON.stringify(response)) continue
        operation.responses[status] = { $ref: `#/components/responses/${name}` }
      }
    }
  }
  return { ...hoisted, components: { ...hoisted.components, responses } }
}

// `404` is `NotFound`.
function nameOf(status: string): string {
  return (
    STATUS_CODES[status]?.replaceAll(/[^A-Za-z]/g, '') ??
    (status === 'default' ? 'AnyError' : `Status${status}`)
  )
}
