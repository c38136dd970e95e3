import { stemmer } from 'stemmer'
import { STOP_WORDS } from './stop-words.ts'

const WORD = /[\p{L}\p{N}][\p{L}\p{N}_'’.@/-]*/gu
const BOUNDARY = /[_.@/-]+|(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u

/** One word of a text: as it was written, its stem, and the stems of its parts (`Last-Event-ID`, `maxSteps`, `RUN_ERR_X`). */
export interface Term {
  word: string
  stem: string
  parts: string[]
}

/** The words of a text that carry meaning, in their order. Stop words are left out. */
export function termsOf(text: string): Term[] {
  const terms: Term[] = []
  for (const [match] of text.normalize('NFKC').matchAll(WORD)) {
    const word = match.replace(/(?<=[\p{L}\p{N}])[^\p{L}\p{N}]+$/u, '').replaceAll('’', "'")
    const lower = word.toLowerCase()
    if (STOP_WORDS.has(lower)) continue
    const pieces = word.split(BOUNDARY).filter(Boolean)
    const stem = stemOf(lower.replace(/[_.@/-]+/g, ''))
    const parts = pieces.length < 2 ? [] : pieces.map((piece) => stemOf(piece.toLowerCase()))
    terms.push({ word, stem, parts })
  }
  return terms
}

/** Every stem of a text, those of the parts of compound words included. */
export function stemsOf(text: string): string[] {
  return termsOf(text).flatMap(({ stem, parts }) => [stem, ...parts])
}

function stemOf(lower: string): string {
  const plain = lower.replace(/'s?$/, '').replaceAll("'", '')
  return /^[a-z]{3,40}$/.test(plain) ? stemmer(plain) : plain
}
