import type { SecuritySchemes } from '@svc/registry'
import type { OpenApiDocument, Response } from './open-api-document.ts'
import { refTo } from './hoist-schemas.ts'

const REFUSALS = { 401: 'No valid credentials', 403: 'The credentials do not allow it' }

/** Says which credentials are taken: any one of the schemes, on every operation that is not open (`security: []`). */
export function describeSecurity(
  document: OpenApiDocument,
  schemes: SecuritySchemes | undefined
): OpenApiDocument {
  if (schemes === undefined || Object.keys(schemes).length === 0) return document
  for (const path of Object.values(document.paths)) {
    for (const operation of Object.values(path)) {
      if (operation.security?.length === 0) continue
      for (const [status, description] of Object.entries(REFUSALS))
        operation.responses[status] ??= refusal(description)
    }
  }
  return {
    ...document,
    security: Object.keys(schemes).map((name) => ({ [name]: [] })),
    components: { ...document.components, securitySchemes: { ...schemes } }
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
