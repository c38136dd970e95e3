import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { useEngine } from './engine-order.ts'
import { installEngine, type RegistryPluginOptions } from '../plugin.ts'
import { rootOf } from './app-scope.ts'

/**
 * Ensures a registry and a run engine for a plugin that needs them: if its scope has none, creates one at the root of the app, for
 * all scopes, with the store of this scope.
 * @throws REG_ERR_BAD_OPTION, REG_ERR_STORE_IN_USE
 */
export async function ensureEngine(
  app: FastifyInstance,
  plugin: string,
  options: RegistryPluginOptions = {}
): Promise<void> {
  if (useEngine(app)) return
  const install = async (scope: FastifyInstance) => {
    installEngine(rootOf(scope), options, { plugin, scope })
    useEngine(scope)
  }
  // Under this name, for plugins of this scope that depend on it.
  await app.register(fp(install, { name: '@svc/registry', fastify: '5.x' }))
}
