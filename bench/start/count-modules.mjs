import { registerHooks } from 'node:module'

// Starts the program beside it of this name, and counts the modules that it loads, those of Node itself left out.
globalThis.loadedModules = new Set()
registerHooks({
  load(url, context, next) {
    if (url.startsWith('file:')) globalThis.loadedModules.add(url)
    return next(url, context)
  }
})
await import(`./${process.argv[2]}.mjs`)
