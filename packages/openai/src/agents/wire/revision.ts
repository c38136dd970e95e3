import type { FastifyInstance } from 'fastify'
import { OPENAI_ERR_BETA } from '../../errors.ts'

/** The revision of the Agents API that is served, as the types of `openai` 7.59 have it: a value of the header `OpenAI-Beta`. */
const REVISION = 'agents=v1'

/** Refuses requests of other revisions, and of none. @throws OPENAI_ERR_BETA */
export function requireRevision(scope: FastifyInstance): void {
  scope.addHook('onRequest', (request, _reply, done) => {
    const { 'openai-beta': given } = request.headers
    const named = (Array.isArray(given) ? given.join(',') : (given ?? '')).split(',')
    if (named.some((each) => each.trim() === REVISION)) done()
    else done(new OPENAI_ERR_BETA(REVISION))
  })
}
