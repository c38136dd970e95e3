import { FUNCTIONS } from '../../../tools/arithmetic/functions.ts'
import { digitsForWords } from './number-words.ts'

const NUMBER = String.raw`(?<![\d.])\d+(?:\.\d+)?(?:e\d+)?`
/** A number, a group in parentheses, or `ans`: the result before. */
const OPERAND = String.raw`(\((?:[^()]|\([^()]*\))*\)|${NUMBER}|ans\b)`
const LIST = String.raw`(${NUMBER}(?:(?: ?, ?(?:and )?| and | ?& ?)${NUMBER})+)`
const NAME = `\\b(?:${[...FUNCTIONS.keys(), 'pi', 'e', 'ans'].join('|')})\\b`
const ARITHMETIC = new RegExp(String.raw`(?:${NAME}|\d+(?:\.\d+)?(?:e\d+)?|\.\d+|[-+*/^%!(),]|\s)+`, 'gi')
const OPERATION = new RegExp(
  String.raw`[\w)%!] ?[-+*/^%] ?[-\w(.]|\d ?[!%]|\b(?:${[...FUNCTIONS.keys()].join('|')})\(`,
  'i'
)
const DATE = /^\d{4}-\d{1,2}(?:-\d{1,2})?$|^\d+(?:[/-]\d+){2,}$|^24\/7$/

const PHRASES: readonly (readonly [phrase: string, expression: string])[] = [
  [String.raw`\bdifference (?:between|of) ${OPERAND} and ${OPERAND}`, '($1 - $2)'],
  [String.raw`\badd ${OPERAND} (?:to|and) ${OPERAND}`, '($2 + $1)'],
  [String.raw`\bsubtract ${OPERAND} from ${OPERAND}`, '($2 - $1)'],
  [String.raw`\bmultiply ${OPERAND} (?:by|and|with) ${OPERAND}`, '($1 * $2)'],
  [String.raw`\bdivide ${OPERAND} by ${OPERAND}`, '($1 / $2)'],
  [String.raw`\bwhat (?:percent|percentage|%) of ${OPERAND} is ${OPERAND}`, '($2 / $1 * 100)'],
  [String.raw`\bincrease ${OPERAND} by ${OPERAND} ?(?:%|percent)`, '($1 * (1 + $2 / 100))'],
  [String.raw`\bdecrease ${OPERAND} by ${OPERAND} ?(?:%|percent)`, '($1 * (1 - $2 / 100))'],
  [String.raw`${OPERAND} ?(?:%|percent) off(?: of)? ${OPERAND}`, '($2 * (1 - $1 / 100))'],
  [String.raw`${OPERAND} ?(?:%|percent) of ${OPERAND}`, '($1 / 100 * $2)'],
  [String.raw`\b(?:the )?square root of ${OPERAND}`, 'sqrt($1)'],
  [String.raw`\b(?:the )?cube root of ${OPERAND}`, 'cbrt($1)'],
  [String.raw`\b(?:the )?factorial of ${OPERAND}`, 'factorial($1)'],
  [String.raw`\b(?:a )?half of ${OPERAND}`, '($1 / 2)'],
  [String.raw`\b(\d+) thirds? of ${OPERAND}`, '($1 / 3 * $2)'],
  [String.raw`\b(\d+) quarters? of ${OPERAND}`, '($1 / 4 * $2)'],
  [String.raw`\b(?:double|twice) (?:of )?${OPERAND}`, '(2 * $1)'],
  [String.raw`\b(?:triple|thrice) (?:of )?${OPERAND}`, '(3 * $1)'],
  [String.raw` ?\b(?:to the power of|raised to(?: the power of)?)\b`, ' ^'],
  [String.raw` ?\bsquared\b`, '^2'],
  [String.raw` ?\bcubed\b`, '^3'],
  [String.raw`\b(?:times|multiplied by)\b|(?<=[\d)]) ?x ?(?=[\d(])`, ' * '],
  [String.raw`\bdivided by\b`, '/'],
  [String.raw`\bplus\b`, '+'],
  [String.raw`\bminus\b`, '-'],
  [String.raw`\b(?:modulo|mod)\b`, '%'],
  [String.raw`(?<=\d) ?percent\b`, '%']
]
const PRODUCT = new RegExp(String.raw`\bproduct of ${LIST}`, 'gi')
const AGGREGATE = new RegExp(
  String.raw`\b(sum|average|mean|max|min)(?:imum)? of (?:the numbers )?${LIST}`,
  'gi'
)
const REPLACEMENTS = PHRASES.map(([phrase, expression]) => [new RegExp(phrase, 'gi'), expression] as const)

/** Rewrites arithmetic in words as an expression, "15% of 80" as `(15 / 100 * 80)`, and leaves other words as they are. */
export function toExpression(text: string): string {
  let out = digitsForWords(
    text
      .replaceAll('²', '^2')
      .replaceAll('³', '^3')
      .replace(/√ ?(\d+(?:\.\d+)?)/g, 'sqrt($1)')
      .replace(/[×⋅·∙]/g, '*')
      .replaceAll('÷', '/')
      .replace(/[−–]/g, '-')
      .replaceAll('**', '^')
      .replace(/(?<=\d),(?=\d{3}(?!\d))/g, '')
      .replace(/\bthat\b|\bit\b|\bthe (?:last )?result\b/gi, 'ans')
      .replace(/\b(?:a|one) (?=third|quarter)/gi, '1 ')
  )
    .replace(PRODUCT, (_, list: string) => `(${numbersIn(list).join(' * ')})`)
    .replace(AGGREGATE, (_, name: string, list: string) => `${name}(${numbersIn(list).join(', ')})`)
  for (const [phrase, expression] of REPLACEMENTS) out = out.replace(phrase, expression)
  return out.replace(/\s+/g, ' ').trim()
}

function numbersIn(list: string): string[] {
  return list.match(/\d+(?:\.\d+)?/g) ?? []
}

/** The longest piece of arithmetic in a text, and the text around it. */
export function findArithmetic(text: string): { expression: string; rest: string } | undefined {
  const pieces = (text.match(ARITHMETIC) ?? []).map((piece) => ({ piece, expression: tidy(piece) }))
  const [longest] = pieces
    .filter(({ expression }) => OPERATION.test(expression) && !DATE.test(expression))
    .sort((a, b) => b.piece.length - a.piece.length)
  return longest && { expression: longest.expression, rest: text.replace(longest.piece, ' ') }
}

// Commas and closing marks at its ends belong to the sentence; parentheses around all of it say nothing.
function tidy(piece: string): string {
  const expression = piece.replace(/^[\s,)!%*/^]+/, '').replace(/(?<![-+*/^(,\s])[-+*/^(,\s]+$/, '')
  const inner = /^\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)$/.exec(expression)?.[1]
  return inner ?? expression
}
