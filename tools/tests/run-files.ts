import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import root from 'tap'
import { enterFile } from './current-test.ts'

// Runs the test files that TEST_FILES lists one after the other in this process, each as one subtest of tap's root.

const TIMEOUT = 60_000
const own = import.meta.resolve('./current-test.ts')
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'tap' && context.parentURL !== own
      ? { url: own, shortCircuit: true }
      : next(specifier, context)
})

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
