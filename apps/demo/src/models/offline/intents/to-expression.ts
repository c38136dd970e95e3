import { trimMarks } from '../../../text/trim-marks.ts'
import { digitsForWords } from '../number-words.ts'

// A number is taken from its first digit on, or each of its digits would be a place to begin.
const NUMBER = String.raw`(?<![\d.])\d+(?:\.\d+)?(?:e\d+)?`
const CALL =
  /\b(?:sqrt|cbrt|abs|floor|ceil|sin|cos|tan|asin|acos|atan|exp|ln|log2?|factorial|round|root|min|max|sum|mean|average)\(/
// An operand of a phrase such as "the square root of …": a number, a group, or what was calculated before.
const OPERAND = String.raw`(\((?:[^()]|\([^()]*\))*\)|${NUMBER}|ans\b)`
const LIST = String.raw`(${NUMBER}(?:\s*(?:,|and|&)\s*(?:and\s+)?${NUMBER})+)`
const phrase = (source: string) => new RegExp(source, 'gi')

const PHRASES: readonly [RegExp, string | ((...groups: string[]) => string)][] = [
  [
    phrase(String.raw`\b(sum|average|mean|max|min|maximum|minimum|product) of (?:the numbers )?${LIST}`),
    listCall
  ],
  [phrase(String.raw`\bdifference (?:between|of) (${NUMBER}) and (${NUMBER})`), '($1 - $2)'],
  [phrase(String.raw`\badd ${OPERAND} (?:to|and) ${OPERAND}`), '($2 + $1)'],
  [phrase(String.raw`\bsubtract ${OPERAND} from ${OPERAND}`), '($2 - $1)'],
  [phrase(String.raw`\bmultiply ${OPERAND} (?:by|and|with) ${OPERAND}`), '($1 * $2)'],
  [phrase(String.raw`\bdivide ${OPERAND} by ${OPERAND}`), '($1 / $2)'],
  [phrase(String.raw`\bwhat (?:percent|percentage|%) of ${OPERAND} is ${OPERAND}`), '($2 / $1 * 100)'],
  [phrase(String.raw`${OPERAND} is what (?:percent|percentage|%) of ${OPERAND}`), '($1 / $2 * 100)'],
  [phrase(String.raw`\bincrease ${OPERAND} by ${OPERAND}\s*(?:%|percent)`), '($1 * (1 + $2 / 100))'],
  [phrase(String.raw`\bdecrease ${OPERAND} by ${OPERAND}\s*(?:%|percent)`), '($1 * (1 - $2 / 100))'],
  [phrase(String.raw`${OPERAND}\s*(?:%|percent) off(?: of)? ${OPERAND}`), '($2 * (1 - $1 / 100))'],
  [phrase(String.raw`${OPERAND}\s*(?:%|per ?cent) (?:of|from|von|de) ${OPERAND}`), '($1 / 100 * $2)'],
  [phrase(String.raw`\b(?:the )?square root (?:of )?${OPERAND}`), 'sqrt($1)'],
  [phrase(String.raw`\b(?:the )?cub(?:e|ic) root (?:of )?${OPERAND}`), 'cbrt($1)'],
  [phrase(String.raw`\bsqrt (?:of )?(${NUMBER})`), 'sqrt($1)'],
  [phrase(String.raw`\b(?:the )?factorial of ${OPERAND}`), 'factorial($1)'],
  [phrase(String.raw`${OPERAND} factorial\b`), 'factorial($1)'],
  [phrase(String.raw`\b(?:half|a half) of ${OPERAND}`), '($1 / 2)'],
  [phrase(String.raw`\b(a|\d+) (third|quarter|fourth|fifth|tenth)s? of ${OPERAND}`), fraction],
  [phrase(String.raw`\b(?:double|twice) (?:of )?${OPERAND}`), '(2 * $1)'],
  [phrase(String.raw`\b(?:triple|thrice) (?:of )?${OPERAND}`), '(3 * $1)'],
  [
    phrase(
      String.raw`${OPERAND} (?:to the power of|raised to(?: the)?(?: power(?: of)?)?|to the) ${OPERAND}(?:th|st|nd|rd)?(?: power)?`
    ),
    '$1 ^ $2'
  ],
  [phrase(String.raw`\s*\bsquared\b`), '^2'],
  [phrase(String.raw`\s*\bcubed\b`), '^3'],
  [/\b(?:multiplied (?:by|with)|times|mal|fois|por)\b/gi, '*'],
  [/\b(?:divided by|over|geteilt durch)\b/gi, '/'],
  [/\b(?:plus|added to|más)\b/gi, '+'],
  [/\b(?:minus|less|menos|moins)\b/gi, '-'],
  [/\b(?:modulo|modulus|mod)\b/gi, '%'],
  [/(?<=\d|\))\s*x\s*(?=\d|\()/gi, ' * '],
  [/(?<=\d)\s*per ?cent\b/gi, '%']
]

/**
 * Writes a text as arithmetic where it is some, in words or in signs: "15% of 80" is `(15 / 100 * 80)`. `ans` stands for
 * what was calculated before. What is no arithmetic stays as it is.
 */
export function toExpression(text: string): string {
  let out = digitsForWords(
    text
      .replaceAll('²', '^2')
      .replaceAll('³', '^3')
      .replace(/√\s*(\d+(?:\.\d+)?)/g, 'sqrt($1)')
      .replaceAll('√', 'sqrt')
      .normalize('NFKC')
      .replace(/[×⋅·∙✕✖]/g, '*')
      .replace(/[÷∕➗]/g, '/')
      .replace(/[−–➖]/g, '-')
      .replace(/[➕]/gu, '+')
      .replaceAll('**', '^')
      .replace(/(?<=\d),(?=\d{3}(?!\d))/g, '')
      .replace(/[$€£¥](?=\s*\d)/g, '')
  )
  for (const [pattern, replacement] of PHRASES)
    out = out.replace(pattern, replacement as (...groups: string[]) => string)
  return out.replace(/\s+/g, ' ').trim()
}

/** The longest run of arithmetic in a text that has an operator or a function, and what is left beside it. */
export function findArithmetic(text: string): { expression: string; rest: string } | undefined {
  const runs = text.match(
    /(?:\b(?:sqrt|cbrt|abs|floor|ceil|sin|cos|tan|asin|acos|atan|exp|ln|log2?|factorial|round|root|min|max|sum|mean|average|pi|e|ans)\b|\d+(?:\.\d+)?(?:e\d+)?|\.\d+|[-+*/^%!(),]|\s)+/gi
  )
  const run = runs?.filter(isArithmetic).sort((a, b) => b.length - a.length)[0]
  if (run === undefined) return undefined
  return { expression: tidy(run), rest: text.replace(run, ' ') }
}

function isArithmetic(run: string): boolean {
  const expression = tidy(run)
  if (!/\d|\bpi\b|\bans\b/i.test(expression) || expression.startsWith('+')) return false
  if (/^\d{4}-\d{1,2}(?:-\d{1,2})?$|^\d+(?:[/-]\d+){2,}$/.test(expression)) return false
  return (
    /[\w)%!]\s*[-+*/^%]\s*[-\w(.]/.test(expression) || CALL.test(expression) || /\d\s*[!%]/.test(expression)
  )
}

// Without what belongs to the sentence: commas and closing marks at its ends, parentheses around everything.
function tidy(run: string): string {
  let expression = trimMarks(trimMarks(run.trim().replace(/^[,)!%*/^\s]+/, ''), ',('), '-+*/^')
  while (/^\((?:[^()]|\([^()]*\))*\)$/.test(expression) && !/^\([^()]*\).*\(/.test(expression))
    expression = expression.slice(1, -1).trim()
  return expression
}

const PARTS: Readonly<Record<string, number>> = { third: 3, quarter: 4, fourth: 4, fifth: 5, tenth: 10 }

function fraction(_match: string, count = '', part = '', whole = ''): string {
  return `(${count === 'a' ? 1 : count} / ${PARTS[part.toLowerCase()]} * ${whole})`
}

function listCall(_match: string, name = '', list = ''): string {
  const numbers = list.match(new RegExp(NUMBER, 'g')) ?? []
  if (name.toLowerCase() === 'product') return `(${numbers.join(' * ')})`
  return `${name.toLowerCase().slice(0, name.length > 4 && name.startsWith('m') && name.endsWith('m') ? 3 : undefined)}(${numbers.join(', ')})`
}
