import type { Runnable } from '@svc/registry'

/**
 * The runnable whose name a text mentions: as a whole word, in any case, the first mentioned; of two that begin at the same
 * place the longer.
 */
export function findMention(text: string, runnables: readonly Runnable[]): Runnable | undefined {
  const lower = text.toLowerCase()
  let found: Runnable | undefined
  let foundAt = Number.POSITIVE_INFINITY
  for (const runnable of runnables) {
    const name = runnable.name.toLowerCase()
    const at = indexOfWord(lower, name)
    if (at === -1 || at > foundAt) continue
    if (at === foundAt && name.length <= found!.name.length) continue
    found = runnable
    foundAt = at
  }
  return found
}

const IN_WORD = /[\p{L}\p{N}\p{M}_]/u

function indexOfWord(text: string, word: string): number {
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (!endsInWord(text.slice(0, at)) && !beginsInWord(text.slice(at + word.length, at + word.length + 2)))
      return at
  }
  return -1
}

function beginsInWord(text: string): boolean {
  const point = text.codePointAt(0)
  return point !== undefined && IN_WORD.test(String.fromCodePoint(point))
}

function endsInWord(text: string): boolean {
  const last = /.$/su.exec(text.slice(-2))?.[0]
  return last !== undefined && IN_WORD.test(last)
}
