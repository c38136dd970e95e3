import { jsonReply } from '@svc/surface'
import { Type } from '@sinclair/typebox'
import { RUN_ERR_DRAINING, RUN_ERR_NO_LEASE, RUN_ERR_RECOVERING } from '@svc/contract/errors'
import { errorReplies } from '../openapi/describe-operation.ts'
import type { HttpScope, Surface } from '../surface.ts'

const HealthSchema = Type.Object({ status: Type.Literal('ok') }, { title: 'Health' })
const config = { access: 'open', rateLimit: false } as const
const open = { tags: ['Health'], security: [] }
const live = {
  ...open,
  operationId: 'getLiveness',
  summary: 'Whether the process is alive',
  response: { 200: jsonReply('Alive', HealthSchema), ...errorReplies(500) }
}
const ready = {
  ...open,
  operationId: 'getReadiness',
  summary:
    'Whether the service accepts runs: not draining, recovery complete, stores available, no other node may take its runs',
  response: { 200: jsonReply('Ready', HealthSchema), ...errorReplies(500, 503) }
}

/** `GET /livez`: the process is alive. `GET /readyz`: it accepts runs, and its stores are available. */
export function healthRoutes(scope: HttpScope, { runs }: Surface): void {
  const ok = { status: 'ok' } as const

  scope.get('/livez', { schema: live, config }, async () => ok)

  scope.get('/readyz', { schema: ready, config }, async () => {
    if (runs.draining) throw new RUN_ERR_DRAINING()
    if (runs.recovering) throw new RUN_ERR_RECOVERING()
    if (runs.stores.lease?.held === false) throw new RUN_ERR_NO_LEASE()
    await runs.stores.check?.()
    return ok
  })
}
