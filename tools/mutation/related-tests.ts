import { globSync } from 'node:fs'
import { dirname, relative } from 'node:path'

/** The test files that may notice a change of a source file, those that are named like it first. */
export function relatedTests(source: string): string[] {
  const [, kind, name] = /^(packages|apps)\/([^/]+)\//.exec(source) ?? []
  const own = globSync(`${kind}/${name}/test/**/*.test.ts`)
  const wanted = wordsOf(relative(`${kind}/${name}/src`, source))
  const near = (test: string) =>
    wordsOf(relative(`${kind}/${name}/test`, test)).filter((word) => wanted.includes(word))
  const others = globSync([
    'test/**/*.test.ts',
    ...(name === 'registry' ? ['packages/{http,a2a,gateway,runtime}/test/**/*.test.ts'] : [])
  ])
  const scored = own.map((test) => ({ test, score: near(test).length }))
  return [...scored.toSorted((a, b) => b.score - a.score).map(({ test }) => test), ...others]
}

// Folders count like parts of the name.
function wordsOf(path: string): string[] {
  const folder = dirname(path)
  return [...folder.split('/'), ...path.slice(folder.length).split(/[^a-z]+/)].filter(
    (word) => word.length > 2 && word !== 'test'
  )
}
