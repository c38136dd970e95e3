import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// Imported first, lets a program find our packages as they are published: those that `launch.ts` has installed.
const APP = pathToFileURL(join(import.meta.dirname, '../dist/bench/')).href

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier, specifier.startsWith('@svc/') ? { ...context, parentURL: APP } : context)
})
