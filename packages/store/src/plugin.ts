import { requireEngine, requireNoEngine } from '@svc/registry/engine'
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
 * Decorates the app with its stores, `fastify.store`. Register it before the surfaces: the run engine uses the stores that
 * exist when it is created.
 * @throws STO_ERR_REGISTERED_TWICE for a second store, STO_ERR_PLUGIN_ORDER after the engine, the errors of `createStore`, and
 * STO_ERR_UNUSED if the engine of a ready app belongs to another scope
 */
async function storePlugin(app: FastifyInstance, options: StoreOptions): Promise<void> {
  if (app.hasDecorator('store')) throw new STO_ERR_REGISTERED_TWICE()
  // An engine inherited from the parent scope does not count: this scope may still get its own.
  if (Object.hasOwn(app, 'runs')) requireNoEngine(app, STO_ERR_PLUGIN_ORDER)
  const store = await createStore(options, app.log)
  app.decorate('store', store)
  app.addHook('onReady', async () => requireEngine(app, store, STO_ERR_UNUSED))
  app.addHook('onClose', () => store.close())
}

export default fp(storePlugin, { name: '@svc/store', fastify: '5.x' })
