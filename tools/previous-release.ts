import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync } from 'node:zlib'
import { build } from 'esbuild'

// Keeps a node of this release, as one module with all that it needs, for the test of two releases on one database. To be run at each
// release, once its migrations do not change any more.
const root = fileURLToPath(new URL('../', import.meta.url))
const { outputFiles } = await build({
  entryPoints: [`${root}packages/store/test/helpers/release-node.ts`],
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'esm',
  conditions: ['@svc/source'],
  external: ['pg-native'],
  banner: { js: `import{createRequire}from'node:module';const require=createRequire(import.meta.url);` },
  write: false
})
await writeFile(
  `${root}packages/store/test/fixtures/previous-release.mjs.br`,
  brotliCompressSync(outputFiles[0]!.contents)
)
