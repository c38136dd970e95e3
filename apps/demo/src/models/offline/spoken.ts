import type { LanguageModelV4Prompt } from '@ai-sdk/provider'

/** The instruction by which an agent asks for answers that can be read aloud. */
export const SPOKEN =
  'Your answers are read aloud: answer in one or two short sentences of plain words, without Markdown, code, tables or sources.'

const MAX_SENTENCES = 2
const MAX_CHARACTERS = 240
const SIGNS: Readonly<Record<string, string>> = {
  '*': 'times',
  '/': 'divided by',
  '+': 'plus',
  '-': 'minus',
  '^': 'to the power of',
  '=': 'is',
  '≈': 'is about'
}
/** A result, with what was calculated: "12 * 7 = 84". */
const EQUATION = /^(?:(?:Yes|No): )?[-\d\s.()*/+^]+[=≈][^=≈]+$/
const UNSPEAKABLE = 'That is code, which is better read. Please ask me in writing.'
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

/** True if the answer to a prompt is read aloud. */
export function isSpoken(prompt: LanguageModelV4Prompt): boolean {
  return prompt.some(({ role, content }) => role === 'system' && content.includes(SPOKEN))
}

/** Shortens an answer in Markdown to what can be read aloud. */
export function toSpoken(answer: string): string {
  const prose = answer
    .replace(/```[\s\S]*?(?:```|$)/g, '')
    .replace(/^Source: .*$/gm, '')
    .replace(/^(?:[-*>]|\d+\.) /gm, '')
    .replace(/[*`](?=\S)|(?<=\S)[*`]/g, '')
    .replace(/ \([^()]*\)/g, '')
    .replace(/\b(\d\d:\d\d):\d\d\b/g, '$1')
    .replace(/[“”]/g, '')
    .replace(/\s*\n\s*/g, '\n')
    .trim()
  const lines = prose.split('\n').flatMap((line) => [...sentences.segment(line)])
  let spoken = ''
  for (const { segment } of lines.slice(0, MAX_SENTENCES)) {
    if (spoken !== '' && spoken.length + segment.length > MAX_CHARACTERS) break
    spoken = `${spoken} ${sayEquation(segment.trim())}`.trimStart()
  }
  return spoken === '' ? UNSPEAKABLE : spoken
}

function sayEquation(text: string): string {
  if (!EQUATION.test(text)) return text
  const rounded = text.replace(/(?<=≈ )-?\d+\.\d+$/, (value) => Number(value).toFixed(2))
  return `${rounded.replace(/ ([-*/+^=≈]) /g, (_, sign: string) => ` ${SIGNS[sign]} `)}.`
}
