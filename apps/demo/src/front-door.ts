import type { FastifyInstance } from 'fastify'
import { PHONE, SHOP } from './address.ts'
import { post } from './welcome.ts'

/** Serves `GET /api`, an overview of the service for those who have no browser. */
export function addFrontDoor(app: FastifyInstance): void {
  app.get('/api', (request, reply) => {
    const origin = `${request.protocol}://${request.host}`
    const base = `${origin}/api`
    const question = { input: 'How do I resume a stream?' }
    const page = {
      name: 'agent transport service',
      links: {
        console: `${origin}/`,
        docs: `${base}/docs/`,
        agents: `${base}/agents`,
        teams: `${base}/teams`,
        workflows: `${base}/workflows`,
        runs: `${base}/runs`,
        registry: `${base}/registry`,
        health: `${base}/readyz`,
        shop: `${origin}${SHOP}/`,
        phone: `${origin}/${PHONE}`
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
