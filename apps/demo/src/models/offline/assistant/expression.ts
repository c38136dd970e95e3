import { FUNCTIONS } from '../../../tools/arithmetic/functions.ts'
import { digitsForWords } from './number-words.ts'

/** Arithmetic in words; A and B are operands. */
const PHRASES: Readonly<Record<string, string>> = {
  'subtract A from B': '(B - A)',
  'divide A by B': '(A / B)',
  'what percent of A is B': '(B / A * 100)',
  'increase A by B%': '(A * (1 + B / 100))',
  'A% off B': '(B * (1 - A / 100))',
  'A% of B': '(A / 100 * B)',
  'square root of A': 'sqrt(A)',
  'half of A': '(A / 2)',
  'A thirds? of B': '(A / 3 * B)',
  'A quarters? of B': '(A / 4 * B)',
  '(?:double|twice) A': '(2 * A)',
  'to the power of': '^',
  squared: '^2',
  '(?:times|multiplied by)': '*',
  'divided by': '/',
  plus: '+',
  minus: '-',
  modulo: '%',
  mod: '%',
  'A x B': 'A * B'
}
const NUMBER = String.raw`(?<![\d.])\d+(?:\.\d+)?(?:e\d+)?`
/** A number, a group in parentheses, or `ans`: the previous result. */
const OPERAND = String.raw`\((?:[^()]|\([^()]*\))*\)|${NUMBER}|ans\b`
const RULES = Object.entries(PHRASES).map(([phrase, expression]) => {
  const words = phrase.replace(/[AB]/g, `(?<$&>${OPERAND})`)
  return [
    new RegExp(`(?:\\bthe )?(?<!\\w)${words}(?!\\w)`, 'gi'),
    expression.replace(/[AB]/g, '$<$&>')
  ] as const
})
const LIST = new RegExp(
  String.raw`\b(sum|average|mean|max|min|product) of (${NUMBER}(?:(?: ?, ?| and )${NUMBER})+)`,
  'gi'
)
const NAMES = [...FUNCTIONS.keys()].join('|')
const ARITHMETIC = new RegExp(
  String.raw`(?:\b(?:${NAMES}|pi|e|ans)\b|\d+(?:\.\d+)?|\.\d+|[-+*/^%!(),]|\s)+`,
  'gi'
)
const OPERATION = new RegExp(String.raw`[\w)%!] ?[-+*/^%] ?[-\w(.]|\d ?[!%]|\b(?:${NAMES})\(`, 'i')
const DATE = /^\d{4}-\d{1,2}(?:-\d{1,2})?$|^\d+(?:[/-]\d+){2,}$|^24\/7$/

/** Rewrites arithmetic in words as an expression, "15% of 80" as `(15 / 100 * 80)`, and leaves other words as they are. */
export function toExpression(text: string): string {
  const written = digitsForWords(text)
    .replaceAll('²', '^2')
    .replaceAll('³', '^3')
    .replace(/√ ?(\d+)/g, 'sqrt($1)')
    .replaceAll('×', '*')
    .replaceAll('÷', '/')
    .replaceAll('−', '-')
    .replaceAll('**', '^')
    .replace(/(?<=\d),(?=\d{3}(?!\d))/g, '')
    .replace(/(?<=\d) ?percent\b/g, '%')
    .replace(/\bthat\b|\bit\b|\bthe (?:last )?result\b/gi, 'ans')
    .replace(/\b(?:a|one) (?=third|quarter)/gi, '1 ')
    .replace(LIST, (_, name: string, list: string) => {
      const numbers = list.match(/\d+(?:\.\d+)?/g)!
      return name === 'product' ? `(${numbers.join(' * ')})` : `${name}(${numbers.join(', ')})`
    })
  return RULES.reduce((out, [phrase, expression]) => out.replace(phrase, expression), written).trim()
}

/** The longest piece of arithmetic in a text, and the text around it. */
export function findArithmetic(text: string): { expression: string; rest: string } | undefined {
  const [longest] = (text.match(ARITHMETIC) ?? [])
    .map((piece) => ({ piece, expression: tidy(piece) }))
    .filter(({ expression }) => OPERATION.test(expression) && !DATE.test(expression))
    .sort((a, b) => b.piece.length - a.piece.length)
  return longest && { expression: longest.expression, rest: text.replace(longest.piece, ' ') }
}

// Commas and open marks at its ends belong to the sentence; parentheses around all of it say nothing.
function tidy(piece: string): string {
  const expression = piece.replace(/^[\s,)!%*/^]+/, '').replace(/(?<![-+*/^(,\s])[-+*/^(,\s]+$/, '')
  return /^\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)$/.exec(expression)?.[1] ?? expression
}
