import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The README of a package. */
export interface Readme {
  readonly text: string
  /** The names in the first column of the tables under a heading, sorted. */
  firstColumn(heading: string): string[]
}

/** Reads the README of a package, by its folder of tests. */
export function readReadme(tests: string): Readme {
  const text = readFileSync(join(tests, '../README.md'), 'utf8')
  return {
    text,
    firstColumn(heading) {
      const section = text.slice(text.indexOf(`## ${heading}\n`)).split('\n## ', 2)[0] ?? ''
      const rows = section.split('\n').filter((line) => line.startsWith('| `'))
      return rows
        .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
        .toSorted()
    }
  }
}

/** The names of options as a table has them: those of an object one by one, `limits.payload`. */
export function optionNames(properties: Readonly<Record<string, object>>): string[] {
  return Object.entries(properties)
    .flatMap(([name, { properties: inner = {} }]: [string, { properties?: object }]) => {
      const keys = Object.keys(inner).map((key) => `${name}.${key}`)
      return keys.length > 0 ? keys : [name]
    })
    .toSorted()
}
