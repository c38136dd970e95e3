import { frameworkErrors, HTTP_ERR_ROUTE_NOT_FOUND } from '@svc/http'
import type { FastifyInstance } from 'fastify'
import { post } from './welcome.ts'

/** What is outside of the API: `GET /` says what there is, and errors have the shape of all the others. */
export function addFrontDoor(app: FastifyInstance): void {
  app.setErrorHandler(frameworkErrors)
  app.setNotFoundHandler((request, reply) =>
    frameworkErrors(new HTTP_ERR_ROUTE_NOT_FOUND(request.method), request, reply)
  )
  app.get('/', (request, reply) => {
    const base = `${request.protocol}://${request.host}/api`
    const question = { input: 'How do I resume a stream?' }
    const page = {
      name: 'agent transport service',
      links: {
        agents: `${base}/agents`,
        runs: `${base}/runs`,
        registry: `${base}/registry`,
        health: `${base}/readyz`
      },
      try: [
        post(`${base}/agents/assistant/run`, question),
        post(`${base}/agents/assistant/stream`, question, '-N'),
        `curl -s ${base}/agents`
      ]
    }
    return reply.type('application/json; charset=utf-8').send(`${JSON.stringify(page, null, 2)}\n`)
  })
}
