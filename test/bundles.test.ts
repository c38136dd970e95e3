import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'

const ROOT = resolve(import.meta.dirname, '..')
// Without the console, whose sources build their page, and the store, whose drivers are native.
const PACKAGES = [
  ...['registry', 'runtime', 'http', 'gateway', 'a2a', 'ag-ui', 'mcp', 'openai', 'realtime'],
  ...['ui-stream']
]

/** Loads everything that the packages export, and prints how many exports there are. */
const APP = `
${PACKAGES.map((name, at) => `import * as package${at} from '@svc/${name}'`).join('\n')}
console.log([${PACKAGES.map((_, at) => `package${at}`).join()}].map((each) => Object.keys(each).length).join())
`

t.test('a bundle of every package for CommonJS loads', async (t) => {
  const dir = t.testdir()
  const outfile = join(dir, 'app.cjs')
  await build({
    stdin: { contents: APP, resolveDir: ROOT },
    ...{ outfile, bundle: true, platform: 'node', format: 'cjs', conditions: ['@svc/source'] },
    logLevel: 'silent'
  })
  const { stdout, stderr } = spawnSync(process.execPath, [outfile], { encoding: 'utf8' })
  t.match(stdout, /^\d+(,\d+)+\n$/, stderr.slice(0, 1_000))
})
