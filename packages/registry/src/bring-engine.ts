import type { FastifyInstance } from 'fastify'
import { noteBringer } from './engine-order.ts'
import registryPlugin, { type RegistryPluginOptions } from './plugin.ts'

/** Registers the registry and the run engine for a plugin that needs them, unless the app has them. @throws REG_ERR_BAD_OPTION */
export async function bringEngine(
  app: FastifyInstance,
  plugin: string,
  options: RegistryPluginOptions = {}
): Promise<void> {
  if (app.hasPlugin('@svc/registry')) return
  await app.register(registryPlugin, options)
  noteBringer(app, plugin)
}
