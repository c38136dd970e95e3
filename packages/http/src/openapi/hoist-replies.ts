import { STATUS_CODES } from 'node:http'
import type { OpenApiDocument, Response } from '@svc/registry/wire-kit'

/** Returns a copy of a document with identical error replies as components. */
export function hoistReplies(document: OpenApiDocument): OpenApiDocument {
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
