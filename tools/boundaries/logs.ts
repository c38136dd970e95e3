import type { SourceTree } from './source-tree.ts'
import { findSourceFiles } from './workspace.ts'

const LOG_CALL = /\b(?:log(?:ger)?[?!]*\.(?:trace|debug|info|warn|error|fatal)|logRun)(?:\?\.)?\(/g
const ERROR = '(?:err|error|cause|reason|thrown)'
/** An error as it is: `{ err }`, `err: anything but toLoggable(…)`, `...err`, or the first argument. */
const RAW = [
  new RegExp(String.raw`[{,]\s*${ERROR}\s*[,}]`),
  new RegExp(String.raw`\b(?:err|error|cause)\s*:(?!\s*toLoggable\()`),
  new RegExp(String.raw`\.\.\.${ERROR}\b(?!\.)`),
  new RegExp(String.raw`^\s*${ERROR}\s*[,)]`)
]

/** Errors get into logs through `toLoggable`: as they are they may hold the headers of a request that failed. */
export function checkLogs(tree: SourceTree): string[] {
  return findSourceFiles(tree)
    .filter(({ role }) => role === 'src')
    .flatMap(({ path, text }) =>
      [...text.matchAll(LOG_CALL)]
        .filter(({ index, 0: call }) => {
          const given = argumentsAt(text, index + call.length)
          return RAW.some((pattern) => pattern.test(given))
        })
        .map(({ index }) => `${path}:${lineOf(text, index)}: logs an error that is not toLoggable`)
    )
}

/** What stands between a parenthesis that was opened before `start` and the one that closes it, which is included. */
function argumentsAt(text: string, start: number): string {
  let depth = 1
  let end = start
  for (; depth > 0 && end < text.length; end++) {
    if (text[end] === '(') depth++
    else if (text[end] === ')') depth--
  }
  return text.slice(start, end)
}

const lineOf = (text: string, index: number) => text.slice(0, index).split('\n').length
