import { REASONS, type ErrorStatus } from './describe-replies.ts'
import { refTo, type OpenApiDocument, type Response } from '@svc/registry/wire-kit'

/** Adds error replies to every operation that is not open (`security: []`). */
export function describeRefusals(document: OpenApiDocument, statuses: readonly ErrorStatus[]): void {
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
