import { posix } from 'node:path'
import type { SourceTree } from './source-tree.ts'

const roots = new Set([
  'packages',
  'apps',
  'tools',
  'test',
  'bench',
  'docs',
  'src',
  'examples',
  '.ci',
  '.changeset'
])
const isPath = /^[\w.@*-]+(?:\/[\w.@*{},-]+)+\/?$/
const generated = /(?:^|\/)(?:node_modules|dist|\.tap|\.turbo)(?:\/|$)/

/** Every path that a Markdown file names, in backticks or as a link, exists. */
export function checkMarkdownPaths(tree: SourceTree): string[] {
  const known = withFolders(tree)
  return [...tree].flatMap(([path, text]) => {
    if (!path.endsWith('.md') || path.endsWith('CHANGELOG.md')) return []
    const prose = text.replace(/^( *)(```|~~~)[\s\S]*?^ *\2/gm, '')
    return [
      ...findLinks(prose).filter((target) => !exists(posix.join(posix.dirname(path), target), known)),
      ...findNamedPaths(prose).filter(
        (target) => !places(path, known).some((from) => exists(posix.join(from, target), known))
      )
    ].map((target) => `${path}: names ${target}, which does not exist`)
  })
}

function withFolders(tree: SourceTree): string[] {
  const known = new Set<string>()
  for (const path of tree.keys()) {
    for (let at = path; at !== '.' && !known.has(at); at = posix.dirname(at)) known.add(at)
  }
  return [...known]
}

function findLinks(prose: string): string[] {
  return [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)]
    .map(([, target = '']) => decodeURI(target.replace(/[#?].*$/, '')))
    .filter((target) => target !== '' && !/^(?:[a-z]+:|\/)/i.test(target))
}

function findNamedPaths(prose: string): string[] {
  return [...prose.matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)]
    .map(([, code = '']) => code.replace(/^\.\//, ''))
    .filter((code) => isPath.test(code) && roots.has(code.split('/')[0] ?? '') && !generated.test(code))
}

/** Where a path may start: at the root, beside the Markdown file or above it, or in any one package. */
function places(markdown: string, known: string[]): string[] {
  const above: string[] = []
  for (let at = posix.dirname(markdown); at !== '.'; at = posix.dirname(at)) above.push(at)
  return [
    '',
    ...above,
    ...(above.length > 0 ? [] : known.filter((path) => /^(?:packages|apps)\/[^/]+$/.test(path)))
  ]
}

function exists(target: string, known: string[]): boolean {
  const path = target.replace(/\/$/, '')
  if (path === '.' || known.includes(path)) return true
  return /[*{]/.test(path) && known.some((candidate) => posix.matchesGlob(candidate, path))
}
