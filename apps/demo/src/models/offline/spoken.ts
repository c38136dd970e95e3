/** The instruction by which an agent asks for answers that can be read aloud. */
export const SPOKEN =
  'Your answers are read aloud: answer in one or two short sentences of plain words, without Markdown, code, tables or sources.'

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
const EQUATION = /^[-\d\s.()*/+^]+[=≈][^=≈]+$/
const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Shortens an answer in Markdown to two sentences that can be read aloud. */
export function toSpoken(answer: string): string {
  const prose = answer
    .replace(/```[\s\S]*?(?:```|$)/g, '')
    .replace(/^Source: .*$|^\|.*$|^(?:[-*>]|\d+\.) /gm, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/ \([^()]*\)/g, '')
    .replace(/\b(\d\d:\d\d):\d\d\b/g, '$1')
  const [first = '', second = ''] = prose
    .split('\n\n')
    .flatMap((paragraph) => [...sentences.segment(paragraph.replaceAll('\n', ' '))])
    .map(({ segment }) =>
      (EQUATION.test(segment) ? sayEquation(segment) : segment.replace(/[*`“”]/g, '')).trim()
    )
    .filter((sentence) => sentence !== '')
  if (first === '') return 'That is code, which is better read. Please ask me in writing.'
  return first.length + second.length > MAX_CHARACTERS ? first : `${first} ${second}`.trim()
}

function sayEquation(text: string): string {
  const rounded = text.replace(/(?<=≈ )-?\d+\.\d+$/, (value) => Number(value).toFixed(2))
  return `${rounded.replace(/ ([-*/+^=≈]) /g, (_, sign: string) => ` ${SIGNS[sign]} `)}.`
}
