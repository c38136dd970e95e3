import { posix } from 'node:path'
import { init, parse } from 'es-module-lexer'

await init()

/** The modules that a TypeScript file names: imports of values and of types, re-exports, augmentations. */
export function findImports(text: string): string[] {
  const found = new Set<string>()
  for (const { specifier } of parse(text)[0]) {
    if (typeof specifier === 'string') found.add(specifier)
  }
  for (const [, specifier] of text.matchAll(/^declare module '([^'*]+)'/gm)) {
    if (specifier !== undefined) found.add(specifier)
  }
  return [...found]
}

/** The files that a file imports by path, from the root of the repository. */
export const findImportedFiles = (path: string, text: string): string[] =>
  findImports(text)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => posix.join(posix.dirname(path), specifier))

/** The package of a module specifier: `@scope/name/sub` is `@scope/name`. */
export const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
