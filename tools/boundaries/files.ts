import { basename } from 'node:path'
import type { SourceTree } from './source-tree.ts'
import { findSourceFiles } from './workspace.ts'

const maxSourceLines = 300
const maxTestLines = 500
const emptyNames = new Set(['common', 'helper', 'helpers', 'misc', 'types', 'util', 'utils'])
const kebabCase = /^[a-z0-9]+(?:[-.][a-z0-9]+)*$/

/** The lines of a text, without an empty one at its end. */
export const countLines = (text: string) => text.split('\n').length - (text.endsWith('\n') ? 1 : 0)

/** A source has at most 300 lines, a test at most 500; so have components and style sheets of pages. */
export function checkSizes(tree: SourceTree): string[] {
  const ofPages = [...tree].flatMap(([path, text]) => (/\.(?:tsx|css)$/.test(path) ? [{ path, text }] : []))
  return [...findSourceFiles(tree), ...ofPages].flatMap((file) => {
    const lines = countLines(file.text)
    const max = 'role' in file && file.role === 'test' ? maxTestLines : maxSourceLines
    return lines > max ? [`${file.path}: ${lines} lines, at most ${max}`] : []
  })
}

/** Files and folders under src are named in kebab-case after what they hold. */
export function checkNames(tree: SourceTree): string[] {
  return findSourceFiles(tree)
    .filter(({ role }) => role === 'src')
    .flatMap(({ path }) => {
      const names = path.slice(path.indexOf('/src/') + 5).split('/')
      return names.flatMap((part) => {
        const name = basename(part, '.ts')
        if (emptyNames.has(name)) return [`${path}: "${name}" says nothing`]
        return kebabCase.test(name) ? [] : [`${path}: "${name}" is not kebab-case`]
      })
    })
}

/** A library writes to the logger that it is given, never to the console. */
export function checkConsole(tree: SourceTree): string[] {
  return findSourceFiles(tree)
    .filter(({ path, role }) => role === 'src' && path.startsWith('packages/'))
    .filter(({ text }) => /\bconsole\s*[.[]/.test(withoutComments(text)))
    .map(({ path }) => `${path}: uses the console`)
}

const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
