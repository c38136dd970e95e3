import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseSync } from 'oxc-parser'

const TABLE = resolve(import.meta.dirname, '../../packages/console/page/app/views.ts')

/** The names of all views of the console. Its table imports style sheets, which Node cannot load, so it is parsed. */
export function readViewNames(): string[] {
  const source = readFileSync(TABLE, 'utf8')
  const { program } = parseSync(TABLE, source)
  const names = program.body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration') return []
    if (statement.declaration?.type !== 'VariableDeclaration') return []
    const [{ init } = {}] = statement.declaration.declarations
    if (init?.type !== 'ArrayExpression') return []
    return init.elements.map((element) => {
      const { start = 0, end = 0 } = element ?? {}
      const [, name] = /\bname: '([^']+)'/.exec(source.slice(start, end)) ?? []
      if (name === undefined) throw new Error(`${TABLE}: a view without a name`)
      return name
    })
  })
  if (names.length === 0) throw new Error(`${TABLE}: no table of views`)
  return names
}
