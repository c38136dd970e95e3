import { readFile } from 'node:fs/promises'
import type { ErrorClass } from '@svc/registry'
import * as runtime from '@svc/runtime'
import t from 'tap'

const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')

t.test('every error has its name as its code, and appears in the README with its status', async (t) => {
  const codes = Object.entries(runtime).filter(([name]) => name.includes('_ERR_'))
  t.ok(codes.length > 15)
  for (const [name, CatalogueError] of codes) {
    const { code, statusCode } = Reflect.construct(CatalogueError as ErrorClass, ['x', 1])
    t.equal(code, name)
    t.match(readme, new RegExp(`\\| \`${name}\` \\| ${statusCode} \\|`), name)
  }
})
