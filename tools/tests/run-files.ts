import { flushCompileCache, registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

// Runs the test files that TEST_FILES lists one after the other in this process, each as one subtest of tap's root.

const TIMEOUT = 60_000
const isOfTap = /\/node_modules\/(?:@tapjs\/core|async-hook-domain)\/dist\//
const own = import.meta.resolve('./current-test.ts')
const scopes = import.meta.resolve('./async-scopes.ts')
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'tap' && context.parentURL !== own) return { url: own, shortCircuit: true }
    if (specifier === 'async_hooks' && isOfTap.test(context.parentURL ?? ''))
      return { url: scopes, shortCircuit: true }
    return next(specifier, context)
  }
})
// Imported behind the hooks, which hold for what tap imports.
const { enterFile, root } = await import('./current-test.ts')

// Not as arguments: tap names the folders of fixtures after those.
const files = JSON.parse(process.env['TEST_FILES'] ?? '[]') as string[]
delete process.env['TEST_FILES']
root.setTimeout(0)
// A test may wait for a timer that does not keep its process alive.
const alive = setInterval(() => {}, TIMEOUT)
const environment = { ...process.env }
const folder = process.cwd()
for (const file of files) {
  // Buffered: what a file prints by itself then never stands among its results.
  await root.test(file, { buffered: true, timeout: TIMEOUT }, async (t) => {
    enterFile(t)
    await import(pathToFileURL(resolve(folder, file)).href)
  })
  // For the programs that the next file starts, and for other processes: else it is written when this one ends.
  flushCompileCache()
  // What is inherited by programs that the next file starts.
  process.chdir(folder)
  for (const name of Object.keys(process.env)) if (!(name in environment)) delete process.env[name]
  Object.assign(process.env, environment)
}

clearInterval(alive)
// By now nothing should keep the process alive.
setTimeout(() => {
  console.error(`still open: ${process.getActiveResourcesInfo().join(', ')}`)
  process.exit(1)
}, TIMEOUT).unref()
