import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { buildApp, sayV1 } from '../helpers/build-app.ts'
import { ask, BINDINGS } from '../helpers/conformance-client.ts'

/** A hook that refuses every request, as plugins for rate limits and overload do. */
const refusing = (fields: object, retryAfter?: number) => async (app: FastifyInstance) => {
  app.addHook('onRequest', async (_request, reply) => {
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
    throw Object.assign(new Error('Retry in a minute'), fields)
  })
}

t.test('a request that a hook of the app refuses has the status and the text of its error', async (t) => {
  const limited = await buildApp(t, { before: refusing({ statusCode: 429, code: 'FST_ERR_LIMIT' }, 60) })
  const own = await buildApp(t, { before: refusing({ statusCode: 403, code: 'APP_ERR_REGION' }) })
  const bad = await buildApp(t, { before: refusing({ statusCode: 409 }) })
  for (const binding of BINDINGS) {
    const { status, headers, error } = await ask(limited, binding, 'send', sayV1('x'))
    t.equal(status, 429)
    t.equal(headers.get('retry-after'), '60', 'of the hook')
    t.match(error, { message: 'Retry in a minute', reason: 'A2A_ERR_REFUSED' })
    t.equal(error!.code, binding === 'rpc' ? -32000 : 429)
    if (binding === 'rest') t.equal(error!.status, 'RESOURCE_EXHAUSTED')
    t.match(await ask(own, binding, 'list'), { status: 403, error: { reason: 'APP_ERR_REGION' } })
    const conflict = await ask(bad, binding, 'list')
    t.equal(conflict.status, binding === 'rpc' ? 200 : 409)
    t.match(conflict.error, { reason: 'A2A_ERR_REFUSED', code: binding === 'rpc' ? -32000 : 409 })
  }
})

t.test('a failure of a hook keeps its status, and nothing else', async (t) => {
  const loaded = await buildApp(t, { before: refusing({ statusCode: 503, code: 'FST_UNDER_PRESSURE' }) })
  const broken = await buildApp(t, { before: refusing({}) })
  const forged = await buildApp(t, { before: refusing({ statusCode: 404, code: 'A2A_ERR_TASK_NOT_FOUND' }) })
  for (const binding of BINDINGS) {
    const overload = await ask(loaded, binding, 'list')
    t.match(overload, { status: 503, error: { message: 'Internal error', reason: 'A2A_ERR_INTERNAL' } })
    t.match(overload.headers.get('retry-after'), /^\d+$/)
    t.match(await ask(broken, binding, 'list'), {
      status: binding === 'rpc' ? 200 : 500,
      error: { code: binding === 'rpc' ? -32603 : 500, message: 'Internal error' }
    })
    t.match(await ask(forged, binding, 'list'), { error: { reason: 'A2A_ERR_REFUSED' } }, 'it is not ours')
  }
})
