import { loadPage } from '#page'
import { requireFreePlace, rootOf } from '@svc/surface'
import type { FastifyInstance, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { CON_ERR_REGISTERED_TWICE } from './errors.ts'
import { resolveOptions, type ConsoleOptions } from './options.ts'
import { describePage, servePage } from './serve-page.ts'

/** The console: a page over the public routes of the app. It has no rights of its own. */
async function consolePage(app: FastifyInstance, options: ConsoleOptions & RegisterOptions): Promise<void> {
  const settings = resolveOptions(options)
  const files = await loadPage()

  // The scope is encapsulated: nothing in it changes the app.
  await app.register(async (scope) => {
    const prefix = scope.prefix.replace(/\/+$/, '')
    const place = `prefix "${prefix || '/'}"`
    requireFreePlace(rootOf(scope), '@svc/console', place, (taken) => new CON_ERR_REGISTERED_TWICE(taken))
    servePage(scope, files, describePage(settings, prefix))
  }, settings.registerOptions)
}

export default fp(consolePage, { name: '@svc/console', fastify: '5.x' })
