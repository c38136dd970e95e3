import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { useEngine } from './engine-order.ts'
import { installEngine, type RegistryPluginOptions } from '../plugin.ts'
import { rootOf } from './app-scope.ts'

/**
 * Makes sure that there is a registry and a run engine for a plugin that needs them: unless its scope sees one, it is made at
 * the root of the app, for all scopes, with the store that this scope sees.
 * @throws REG_ERR_BAD_OPTION, REG_ERR_STORE_IN_USE
 */
export async function ensureEngine(
  app: FastifyInstance,
  plugin: string,
  options: RegistryPluginOptions = {}
): Promise<void> {
  if (useEngine(app)) return
  const bring = async (scope: FastifyInstance) => {
    installEngine(rootOf(scope), options, { plugin, scope })
    useEngine(scope)
  }
  // By this name, for plugins of this scope that depend on it.
  await app.register(fp(bring, { name: '@svc/registry', fastify: '5.x' }))
}
