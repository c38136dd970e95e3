import { stemmer } from 'stemmer'
import { LIGHT_WORDS, STOP_WORDS, SYNONYM_GROUPS } from './vocabulary.ts'

const WORD = /[\p{L}\p{N}][\p{L}\p{N}_'’.@/-]*/gu
const BOUNDARY = /[_.@/-]+|(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u

/** A word of a text: as written, its stem, and the stems of its parts (`Last-Event-ID`, `maxSteps`, `RUN_ERR_X`). */
export interface Term {
  word: string
  stem: string
  parts: string[]
}

/** The words of a text in order, without stop words. */
export function termsOf(text: string): Term[] {
  return (text.normalize('NFKC').match(WORD) ?? []).flatMap((match) => {
    const word = match.replace(/(?<=[\p{L}\p{N}])[^\p{L}\p{N}]+$/u, '').replaceAll('’', "'")
    if (STOP_WORDS.has(word.toLowerCase())) return []
    // A letter alone says nothing: "gRPC" is not about G.711 and RPC.
    const pieces = word.split(BOUNDARY).filter(({ length }) => length > 1)
    const parts = pieces.length < 2 ? [] : pieces.map(stemOf)
    return [{ word, stem: stemOf(word.replace(/[_.@/-]+/g, '')), parts }]
  })
}

/** Every stem of a text, including those of the parts of compound words. */
export function stemsOf(text: string): string[] {
  return termsOf(text).flatMap(({ stem, parts }) => [stem, ...parts])
}

/** True for a verb that fits many things ("set", "send"). */
export function isLight(stem: string): boolean {
  return light.has(stem)
}

/** Stems with about the same meaning, in the words of this service. */
export function synonymsOf(stem: string): string[] {
  return synonyms
    .filter((group) => group.includes(stem))
    .flatMap((group) => group.filter((each) => each !== stem))
}

/** True if a word is a known one cut short or misspelled ("cancl"), not another word ("bread" for "break"). */
export function isMisspelled(word: string, known: string): boolean {
  if (known.startsWith(word)) return true
  if (word.length !== known.length) return word[0] === known[0] && word.length >= 5
  const at = word.split('').findIndex((letter, index) => letter !== known[index])
  const swapped = word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2)
  return swapped === known || (word[0] === known[0] && word.length > 6)
}

function stemOf(word: string): string {
  const plain = word.toLowerCase().replace(/'s?$/, '').replaceAll("'", '')
  return /^[a-z]{3,40}$/.test(plain) ? stemmer(plain) : plain
}

const light = new Set(LIGHT_WORDS.map(stemOf))
const synonyms = SYNONYM_GROUPS.map((group) => group.map((word) => stemOf(word.replace(/[.-]/g, ''))))
