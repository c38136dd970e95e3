import { readFile } from 'node:fs/promises'
import * as browser from '@svc/browser'
import type { ErrorClass } from '@svc/registry'
import * as runtime from '@svc/runtime'
import * as voice from '@svc/voice'
import t from 'tap'

for (const [name, exported] of Object.entries({ browser, runtime, voice }))
  t.test(
    `every error of @svc/${name} has its name as its code, and is in the README with its status`,
    async (t) => {
      const readme = await readFile(new URL(`../packages/${name}/README.md`, import.meta.url), 'utf8')
      const codes = Object.entries(exported).filter(([each]) => each.includes('_ERR_'))
      t.ok(codes.length > 5)
      for (const [each, CatalogueError] of codes) {
        const { code, statusCode } = Reflect.construct(CatalogueError as ErrorClass, ['x', 1])
        t.equal(code, each)
        t.match(readme, new RegExp(`\\| \`${each}\` \\| ${statusCode} \\|`), each)
      }
    }
  )
