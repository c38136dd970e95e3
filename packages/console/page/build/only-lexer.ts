import { readFile } from 'node:fs/promises'
import type { Plugin } from 'esbuild'

/** Where marked makes the instance behind its functions. */
const INSTANCE = /var \w+=new \w+;function \w+\(\w+,\w+\)\{return/
const LEXER = /\b(\w+) as Lexer\b/

/**
 * Bundles the lexer of marked without its parser and renderer, which the page does not use: an instance made at load keeps them in every
 * bundle. @throws if marked is no longer written like this
 */
export const onlyLexer: Plugin = {
  name: 'only-lexer',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]marked\.esm\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8')
      const end = source.search(INSTANCE)
      const [, lexer] = LEXER.exec(source) ?? []
      if (end === -1 || lexer === undefined) throw new Error(`${path}: its lexer is not found`)
      return { contents: `${source.slice(0, end)}export{${lexer} as Lexer}` }
    })
  }
}
