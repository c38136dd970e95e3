import { Type } from '@sinclair/typebox'
import { RUN_ERR_DRAINING, RUN_ERR_STORE } from '@svc/registry'
import type { Surface } from '../surface.ts'
import type { HttpScope } from '../type-provider.ts'

const config = { access: 'open', rateLimit: false } as const
const schema = { response: { 200: Type.Object({ status: Type.Literal('ok') }) } }

/** `GET /livez`: the process is up. `GET /readyz`: it takes runs, and its stores are there. */
export function healthRoutes(scope: HttpScope, { runs }: Surface): void {
  const ok = { status: 'ok' } as const

  scope.get('/livez', { schema, config }, async () => ok)

  scope.get('/readyz', { schema, config }, async () => {
    if (runs.draining) throw new RUN_ERR_DRAINING()
    const stores: typeof runs.stores & { check?: () => unknown } = runs.stores
    try {
      await stores.check?.()
    } catch (cause) {
      throw new RUN_ERR_STORE({ cause })
    }
    return ok
  })
}
