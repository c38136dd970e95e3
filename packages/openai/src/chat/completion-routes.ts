import type { FastifyInstance } from 'fastify'
import type { Surface } from '../surface.ts'
import { COMPLETION_REPLIES, CompletionBodySchema, type CompletionBody } from './completion-schemas.ts'
import { createCompletion } from './create-completion.ts'
import { requireSupported } from './read-request.ts'

/** The route of Chat Completions. */
export function completionRoutes(scope: FastifyInstance, surface: Surface): void {
  const schema = {
    operationId: 'createChatCompletion',
    tags: ['Chat'],
    summary: 'Answer a conversation that the client keeps',
    description:
      'Starts a run for each request, unless its messages end with the results of tool calls that a run of the caller waits for: that run continues.',
    body: CompletionBodySchema,
    response: COMPLETION_REPLIES
  }
  scope.post<{ Body: CompletionBody }>('/chat/completions', { schema }, (request, reply) => {
    requireSupported(request.body)
    return createCompletion(surface, request, reply)
  })
}
