import { STATUS_CODES } from 'node:http'
import { MessageInputSchema, RUNNABLE_KINDS, type RunnableKind, type SecuritySchemes } from '@svc/contract'
import {
  describeRoutes,
  refTo,
  type Exposed,
  type OpenApiDocument,
  type Operation,
  type Response,
  type Schema
} from '@svc/surface'
import type { FastifyInstance } from 'fastify'
import { REASONS, TAGS, type ErrorStatus } from './describe-operation.ts'
import { EXAMPLES } from './examples.ts'
import type { ResolvedSwagger } from './swagger-options.ts'
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

/**
 * Returns a copy of a document with the current runnables: their names as the values of `:name`, if `named`, and the body
 * of their runs: `RunBody` if all of the kind accept a message, else `JsonRunBody`.
 */
function describeNames(
  base: OpenApiDocument,
  exposed: Pick<Exposed, 'list'>,
  named: boolean
): OpenApiDocument {
  const document = structuredClone(base)
  const kinds = new Map(RUNNABLE_KINDS.map((kind) => [kind, exposed.list(kind)]))
  for (const [path, operations] of Object.entries(document.paths)) {
    const kind = RUNNABLE_KINDS.find((each) => path.includes(`/${each}s/{name}`))
    if (kind === undefined) continue
    const runnables = kinds.get(kind) ?? []
    const names = named ? runnables.map(({ name }) => name) : []
    const takesJson = kind === 'workflow' || runnables.some((each) => each.inputSchema !== undefined)
    for (const operation of Object.values(operations)) {
      nameThem(operation, kind, names)
      if (takesJson) takeJson(operation)
    }
  }
  return document
}

/** Splits the body of a run in two schemas, one for messages, one for any JSON: each requires an input or messages. */
function addMessageInput(schemas: Record<string, Schema>): Record<string, Schema> {
  const { RunBody } = schemas
  if (RunBody === undefined) return schemas
  const { input: json } = RunBody.properties ?? {}
  const message = { $ref: refTo('MessageInput') }
  const split = {
    JsonRunBody: requireOneOf(RunBody, { input: json }),
    RunBody: requireOneOf(
      { ...RunBody, properties: { ...RunBody.properties, input: message } },
      { input: message }
    )
  }
  return { ...schemas, ...split }
}

/**
 * Returns the body of a run with what it must have: some input, or messages. Nested, since generators take an `anyOf` beside
 * `properties` for alternatives of them; with the properties, since they ignore a `required` alone.
 */
function requireOneOf(body: Schema, inputs: Readonly<Record<string, Schema | undefined>>): Schema {
  const { messages } = body.properties ?? {}
  const anyOf = Object.entries({ ...inputs, messages }).map(([name, schema = {}]) => ({
    type: 'object',
    properties: { [name]: schema },
    required: [name]
  }))
  return { ...body, allOf: [{ anyOf }] }
}

function nameThem({ parameters = [] }: Operation, kind: RunnableKind, names: string[]): void {
  const schema = parameters.find((each) => each.in === 'path' && each.name === 'name')?.schema
  if (schema === undefined) return
  // An enum must not be empty.
  if (names.length > 0) schema.enum = names
  schema['example'] = names[0] ?? `some-${kind}`
}

function takeJson({ requestBody }: Operation): void {
  const media = requestBody?.content['application/json']
  if (media?.schema.$ref === refTo('RunBody')) media.schema = { $ref: refTo('JsonRunBody') }
}
