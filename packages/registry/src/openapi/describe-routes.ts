import type { TSchema } from '@sinclair/typebox'
import type { FastifyInstance, RouteOptions } from 'fastify'
import type { SecuritySchemes } from '../contract/principal.ts'
import { hoistSchemas, type Components } from './hoist-schemas.ts'
import type { OpenApiDocument, Operation, Parameter, Response, Schema } from './open-api-document.ts'

/** The description of an API. */
export interface ApiInfo {
  readonly title: string
  readonly version: string
  readonly description?: string
  readonly tags?: OpenApiDocument['tags']
  /** The accepted credentials, as `authenticate.schemes` describes them. */
  readonly schemes?: SecuritySchemes | undefined
}

/** A reply of JSON, for the `response` of a route. */
export function jsonReply<T extends TSchema>(description: string, schema: T) {
  return { description, content: { 'application/json': { schema } } }
}

/** The schema of a route; a response has its `content` by media type, or is a schema without a title. */
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
  response?: Record<string, Schema | Response>
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
  const { title, version, description, tags = [], schemes = {} } = info
  const paths: OpenApiDocument['paths'] = {}
  for (const { method, url, schema } of found)
    (paths[url.replaceAll(/:(\w+)/g, '{$1}')] ??= {})[method.toLowerCase()] = toOperation(schema)
  const components: Components = new Map()
  // A copy without the symbols of TypeBox.
  const hoisted = hoistSchemas(JSON.parse(JSON.stringify(paths)) as typeof paths, components)
  return {
    openapi: '3.0.3',
    info: { title, version, ...(description !== undefined && { description }) },
    servers: [{ url: '/' }],
    tags,
    security: Object.keys(schemes).map((name) => ({ [name]: [] })),
    paths: hoisted,
    components: {
      schemas: Object.fromEntries([...components].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      ...(Object.keys(schemes).length > 0 && { securitySchemes: { ...schemes } })
    }
  }
}

function toOperation(schema: RouteSchema): Operation {
  const { operationId = '', tags = [], summary = '', description, body, response = {}, security } = schema
  const parameters = [
    ...toParameters('path', schema.params),
    ...toParameters('query', schema.querystring),
    ...toParameters('header', schema.headers)
  ]
  return {
    operationId,
    tags: [...tags],
    summary,
    ...(description !== undefined && { description }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
    responses: Object.fromEntries(
      Object.entries(response).map(([status, each]) => [toStatus(status), toResponse(each)])
    ),
    ...(security && { security })
  }
}

function toParameters(place: Parameter['in'], schema: TSchema | undefined): Parameter[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    properties?: Record<string, Schema>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, each]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: each
  }))
}

// Fastify writes `4xx`.
function toStatus(status: string): string {
  return status.toUpperCase().replace('DEFAULT', 'default')
}

function toResponse(given: Schema | Response): Response {
  const { description = '', content, headers } = given as Response
  if (content !== undefined) return { description, ...(headers && { headers }), content }
  const { type } = given as Schema
  // A reply without a body.
  if (type === 'null') return { description, ...(headers && { headers }) }
  return { description, content: { 'application/json': { schema: given as Schema } } }
}
