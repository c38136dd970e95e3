import { requireEngine, requireNoEngine } from '@svc/registry/kit'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { createStore, type Store } from './create-store.ts'
import { STO_ERR_PLUGIN_ORDER, STO_ERR_REGISTERED_TWICE, STO_ERR_UNUSED } from './errors.ts'
import type { StoreOptions } from './options.ts'

declare module 'fastify' {
  interface FastifyInstance {
    store: Store
  }
}

/**
 * The stores of an app, `fastify.store`: register it before the surfaces, whose run engine takes what it finds.
 * @throws STO_ERR_REGISTERED_TWICE where there is a store already, STO_ERR_PLUGIN_ORDER where there is an engine, what
 * `createStore` throws, and STO_ERR_UNUSED when the app is ready and the engine is one of another scope
 */
async function storePlugin(app: FastifyInstance, options: StoreOptions): Promise<void> {
  if (app.hasDecorator('store')) throw new STO_ERR_REGISTERED_TWICE()
  // Where the engine is that of the app around this scope, one of its own may still come.
  if (Object.hasOwn(app, 'runs')) requireNoEngine(app, STO_ERR_PLUGIN_ORDER)
  const store = await createStore(options, app.log)
  app.decorate('store', store)
  app.addHook('onReady', async () => requireEngine(app, store, STO_ERR_UNUSED))
  app.addHook('onClose', () => store.close())
}

export default fp(storePlugin, { name: '@svc/store', fastify: '5.x' })
