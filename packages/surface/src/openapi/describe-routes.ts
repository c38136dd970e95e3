import { Type, type TSchema } from '@sinclair/typebox'
import type { FastifyInstance, RouteOptions } from 'fastify'
import type { SecuritySchemes } from '@svc/contract'
import type { Media, OpenApiDocument, Operation, Parameter, Response } from './open-api-document.ts'
import { SchemaObjects } from './schema-objects.ts'

/** The description of an API. */
export interface ApiInfo {
  readonly title: string
  readonly version: string
  readonly description?: string
  readonly tags?: OpenApiDocument['tags']
  /** The accepted credentials, as `authenticate.schemes` describes them. */
  readonly schemes?: SecuritySchemes | undefined
  /** Base URLs of the paths; default `[{ url: '/' }]`. */
  readonly servers?: OpenApiDocument['servers']
  /** Prepended to the paths. */
  readonly pathPrefix?: string
  /** Titled schemas to describe though no route has them. */
  readonly schemas?: readonly TSchema[]
  /** Examples of titled schemas, by their title. */
  readonly examples?: Readonly<Record<string, object>>
}

/** Descriptions of reply headers, by name. */
type HeaderTexts = Readonly<Record<string, string>>

/** A reply of JSON, for the `response` of a route. */
export function jsonReply<T extends TSchema>(description: string, schema: T, headers?: HeaderTexts) {
  return reply(description, { 'application/json': { schema } }, headers)
}

/** A reply of the bytes of a file, of any type. */
export function bytesReply(description: string, headers?: HeaderTexts) {
  return reply(description, { '*/*': { schema: BYTES } }, headers)
}

/** A reply of events; the schema describes the `data` of each message. */
export function eventsReply<T extends TSchema>(description: string, schema: T, headers?: HeaderTexts) {
  return reply(description, { 'text/event-stream': { schema } }, headers)
}

const BYTES = Type.Unsafe<unknown>({ type: 'string', format: 'binary' })

function reply<C>(description: string, content: C, headers: HeaderTexts = {}) {
  const described = Object.entries(headers).map(([name, text]) => [
    name,
    { type: 'string', description: text }
  ])
  return { description, headers: Object.fromEntries(described) as object, content }
}

/** The reply of a route: with its content by media type, or a schema without a title. */
interface RouteReply {
  description?: string
  type?: unknown
  content?: Record<string, { schema: TSchema }>
  /** A header is its schema, with its description. */
  headers?: Record<string, { description?: string }>
}

interface RouteSchema {
  operationId?: string
  tags?: readonly string[]
  summary?: string
  description?: string
  hide?: boolean
  params?: TSchema
  querystring?: TSchema
  headers?: TSchema
  body?: TSchema
  response?: Record<string, RouteReply>
  security?: Record<string, string[]>[]
}

interface FoundRoute {
  readonly method: string
  readonly url: string
  readonly schema: RouteSchema
}

/**
 * Describes the routes that are added to a scope from now on, in OpenAPI 3.0.3, by the schemas that validate them. Titled schemas become
 * components. Routes with `hide` are left out.
 * @returns a function that makes the document, once
 */
export function describeRoutes(
  scope: Pick<FastifyInstance, 'addHook'>,
  info: ApiInfo
): () => OpenApiDocument {
  const found: FoundRoute[] = []
  scope.addHook('onRoute', ({ method, url, schema }: RouteOptions) => {
    const own = (schema ?? {}) as RouteSchema
    if (own.hide === true || own.operationId === undefined) return
    for (const each of [method].flat()) if (each !== 'HEAD') found.push({ method: each, url, schema: own })
  })
  let document: OpenApiDocument | undefined
  return () => (document ??= toDocument(found, info))
}

function toDocument(found: readonly FoundRoute[], info: ApiInfo): OpenApiDocument {
  const { title, version, description, tags = [], schemes = {}, servers = [{ url: '/' }] } = info
  const schemas = new SchemaObjects(info.examples)
  for (const each of info.schemas ?? []) schemas.convert(each)
  const paths: OpenApiDocument['paths'] = {}
  for (const { method, url, schema } of found) {
    const { path, wildcard } = toPath((info.pathPrefix ?? '') + url, schema.params)
    ;(paths[path] ??= {})[method.toLowerCase()] = toOperation(schema, wildcard, schemas)
  }
  return {
    openapi: '3.0.3',
    info: { title, version, ...(description !== undefined && { description }) },
    servers,
    tags,
    security: Object.keys(schemes).map((name) => ({ [name]: [] })),
    paths,
    components: {
      schemas: schemas.components,
      ...(Object.keys(schemes).length > 0 && { securitySchemes: { ...schemes } })
    }
  }
}

// A wildcard has no name in a route: its parameter is named by the title of its schema.
function toPath(url: string, params: TSchema | undefined): { path: string; wildcard: string } {
  const { '*': rest } = propertiesOf(params)
  const wildcard = rest?.title ?? 'path'
  return { path: url.replaceAll(/:(\w+)(\([^)]*\))?/g, '{$1}').replace('*', `{${wildcard}}`), wildcard }
}

function toOperation(schema: RouteSchema, wildcard: string, schemas: SchemaObjects): Operation {
  const { operationId = '', tags = [], summary = '', description, body, response = {}, security } = schema
  const parameters = [
    ...toParameters('path', schema.params, schemas).map((each) =>
      each.name === '*' ? { ...each, name: wildcard } : each
    ),
    ...toParameters('query', schema.querystring, schemas),
    ...toParameters('header', schema.headers, schemas)
  ]
  return {
    operationId,
    tags: [...tags],
    summary,
    ...(description !== undefined && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: schemas.convert(body) } } }
    }),
    responses: Object.fromEntries(
      Object.entries(response).map(([status, each]) => [toStatus(status), toResponse(each, schemas)])
    ),
    ...(security && { security })
  }
}

function propertiesOf(schema: TSchema | undefined): Record<string, TSchema> {
  return (schema as { properties?: Record<string, TSchema> } | undefined)?.properties ?? {}
}

function toParameters(
  place: Parameter['in'],
  given: TSchema | undefined,
  schemas: SchemaObjects
): Parameter[] {
  const { required = [] } = (given ?? {}) as { required?: readonly string[] }
  return Object.entries(propertiesOf(given)).map(([name, each]) => {
    const schema = schemas.convert(each)
    const { type, default: byDefault } = schemas.resolve(schema)
    const { description, ...rest } = schema
    return {
      name,
      in: place,
      ...(typeof description === 'string' && { description }),
      // TypeBox marks properties with a default as required; such parameters are optional.
      required: place === 'path' || (byDefault === undefined && required.includes(name)),
      ...(place === 'query' && type === 'object' && { style: 'deepObject' as const, explode: true }),
      schema: rest
    }
  })
}

// Fastify writes `4xx`.
function toStatus(status: string): string {
  return status.toUpperCase().replace('DEFAULT', 'default')
}

function toResponse(given: RouteReply, schemas: SchemaObjects): Response {
  const { description = '', content, headers } = given
  const response: Response = { description }
  if (headers !== undefined && Object.keys(headers).length > 0)
    response.headers = mapValues(headers, ({ description: what, ...schema }) => ({
      ...(what !== undefined && { description: what }),
      schema: schemas.convert(schema)
    }))
  // A reply without a body.
  if (content === undefined && given.type === 'null') return response
  const media = content ?? { 'application/json': { schema: given as TSchema } }
  response.content = mapValues(media, ({ schema }): Media => ({ schema: schemas.convert(schema) }))
  return response
}

function mapValues<From, To>(of: Record<string, From>, change: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(of).map(([key, value]) => [key, change(value)]))
}
