import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { ENCODINGS, type Encoding } from '../../src/serve-page.ts'
import { bundlePage } from './bundled-page.ts'

// Writes the page into the build of the package, as small as it gets.
const FOLDER = resolve(import.meta.dirname, '../../dist/page')
await rm(FOLDER, { recursive: true, force: true })
for (const { path, body, encoded } of await bundlePage(11)) {
  const file = resolve(FOLDER, path)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, body)
  for (const [encoding, content] of Object.entries(encoded))
    await writeFile(file + ENCODINGS[encoding as Encoding], content)
}
