import { readFile, writeFile } from 'node:fs/promises'
import { createRequire, registerHooks } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { generate } from 'orval'

// Two of them write with the API of TypeScript 5, which the compiler at the root no longer has; a package has it.
const { resolve: find } = createRequire(resolve(import.meta.dirname, '../../packages/http/package.json'))
const typescript = pathToFileURL(createRequire(find('openapi-typescript')).resolve('typescript')).href
registerHooks({
  resolve: (specifier, context, next) => next(specifier === 'typescript' ? typescript : specifier, context)
})
const { createClient } = await import('@hey-api/openapi-ts')
const { default: openapiTypescript, astToString } = await import('openapi-typescript')

/** Generates clients of the documents `<name>.json` in a folder with each generator. Run as a program: the generators print. */
const [folder = '', ...names] = process.argv.slice(2)

for (const name of names) {
  const file = join(folder, `${name}.json`)
  const types = await openapiTypescript(JSON.parse(await readFile(file, 'utf8')) as never)
  await writeFile(join(folder, `types-${name}.ts`), astToString(types))
  await generate({
    input: { target: file },
    output: { target: join(folder, `orval-${name}.ts`), client: 'fetch', mode: 'single' }
  })
}
await createClient(
  names.map((name) => ({
    input: join(folder, `${name}.json`),
    output: join(folder, `hey-${name}`),
    plugins: ['@hey-api/typescript', '@hey-api/sdk', '@hey-api/client-fetch'],
    logs: { file: false, level: 'error' }
  }))
)
