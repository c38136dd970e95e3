import type { SecuritySchemes } from '@svc/registry'
import type { OpenApiDocument } from './open-api-document.ts'

/** Says which credentials are taken: any one of the schemes, on every operation that is not open (`security: []`). */
export function describeSecurity(
  document: OpenApiDocument,
  schemes: SecuritySchemes | undefined
): OpenApiDocument {
  if (schemes === undefined || Object.keys(schemes).length === 0) return document
  return {
    ...document,
    security: Object.keys(schemes).map((name) => ({ [name]: [] })),
    components: { ...document.components, securitySchemes: { ...schemes } }
  }
}
