/** A document of OpenAPI 3.0.3. @see https://spec.openapis.org/oas/v3.0.3 */
export interface OpenApiDocument {
  openapi: string
  info: { title: string; version: string; description?: string }
  servers: { url: string; description?: string }[]
  tags: { name: string; description: string }[]
  security: Record<string, string[]>[]
  paths: Record<string, PathItem>
  components: {
    schemas: Record<string, Schema>
    responses?: Record<string, Response>
    securitySchemes?: Record<string, object>
  }
}

/** The operations of one path by their method, in lower case. */
export type PathItem = Record<string, Operation>

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Record<string, Media> }
  responses: Record<string, Response>
  security?: Record<string, string[]>[]
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header' | 'cookie'
  description?: string
  required?: boolean
  style?: 'deepObject'
  explode?: boolean
  schema: Schema
}

export interface Media {
  schema: Schema
  /** Of the properties of a form. */
  encoding?: Record<string, { contentType: string }>
  example?: unknown
}

export interface Response {
  $ref?: string
  description?: string
  headers?: Record<string, object>
  content?: Record<string, Media>
}

/** A Schema Object of OpenAPI 3.0. */
export interface Schema {
  [keyword: string]: unknown
  $ref?: string
  title?: string
  properties?: Record<string, Schema>
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  discriminator?: { propertyName: string; mapping?: Record<string, string> }
}
