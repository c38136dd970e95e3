import { termsOf } from '../../../text/terms.ts'
import { trimMarks } from '../../../text/trim-marks.ts'
import type { Before, Intent } from './intent.ts'
import { findArithmetic, toExpression } from './to-expression.ts'

const FILLER = new Set(
  `result calculate compute calculation evaluate math maths equal equals equation sum total value number hey bot
  exactly quick solve add combien cuanto cuánto font fait wieviel ist quanto fa cuanto es makes come comes
  cost costs price worth dollars euros dollar euro`.split(/\s+/)
)
const OPERATOR_FIRST = /^(?:[-+*/^%]\s*[\d(.]|\^\d)/
const UNFINISHED = /^[\d\s.()]*[-+*/^]\s*$/
const LEAD =
  /^(?:(?:and|then|now|so|what about|how about|what if|what is|what's|ok|okay|but|also|please)[,\s]+)+/i
const THAT = /\b(?:that|it|this|the (?:last |previous )?(?:result|answer|number|value))\b/gi

/** Reads a calculation, in signs or in words, also one that goes on from the calculation before. */
export function readCalculation(text: string, before: Before): Intent | undefined {
  if (
    !/\d|\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|twelve|dozen|twenty|hundred|thousand|double|twice|triple|half|squared?|cubed?|pi)\b|[²³√]/i.test(
      text
    )
  )
    return undefined
  return readFollowUp(text, before) ?? readOwn(text)
}

function readOwn(text: string): Intent | undefined {
  const written = toExpression(text)
  const found = findArithmetic(written)
  // What breaks off after an operator is for the tool to refuse.
  if (found === undefined && /\d/.test(written) && UNFINISHED.test(written))
    return { type: 'calculate', expression: written }
  if (found === undefined || /\bans\b/.test(found.expression)) return undefined
  const { expression, rest } = found
  if (expression === '24/7' && rest.trim() !== '') return undefined
  const words = termsOf(rest.replace(/=/g, ' ')).filter(({ word }) => !FILLER.has(word.toLowerCase()))
  const strong = /[*+^(]|\d\s*[-/]\s+\d|\d\s+[-/]\s*\d/.test(expression)
  const strange = words.filter(({ word }) => !/^\d/.test(word))
  if (strange.length > (strong ? 2 : 0)) return undefined
  const claimed = /=\s*\(?(-?\d+(?:\.\d+)?)/.exec(rest) ?? /\bequal(?:s| to)?\s+(-?\d+(?:\.\d+)?)/i.exec(rest)
  return { type: 'calculate', expression, ...(claimed?.[1] !== undefined && { claimed: claimed[1] }) }
}

function readFollowUp(text: string, before: Before): Intent | undefined {
  const last = lastExpression(before)
  if (last === undefined) return undefined
  const asked = trimMarks(text.trim(), '?.!')
  const bare = asked.replace(LEAD, '')
  const again = /^(?:of )?(\d+(?:\.\d+)?)$/.exec(bare)
  if (again !== null && bare !== asked) return replaceLastNumber(last, again[1]!)
  const written = toExpression(bare.replace(THAT, 'ans').replace(/^(add|subtract) (\S+)$/i, '$1 $2 to ans'))
    .replace(/^add (\S+)$/i, '+ $1')
    .replace(/^\(?subtract (\S+?)(?: to ans)?\)?$/i, '- $1')
    .replace(/^multiply by (\S+)$/i, '* $1')
    .replace(/^divide by (\S+)$/i, '/ $1')
    .replace(/^(?:double|twice)$/i, '* 2')
    .replace(/^half$/i, '/ 2')
  const whole =
    OPERATOR_FIRST.test(written) && (bare !== asked || !/^-?\d/.test(asked)) ? `ans ${written}` : written
  const found = findArithmetic(whole)
  if (found === undefined || !/\bans\b/.test(found.expression)) return undefined
  if (termsOf(found.rest).some(({ word }) => !FILLER.has(word.toLowerCase()))) return undefined
  return { type: 'calculate', expression: found.expression.replace(/\bans\b/g, `(${last})`) }
}

function replaceLastNumber(expression: string, number: string): Intent | undefined {
  const replaced = expression.replace(/(?<!\d)\d+(?:\.\d+)?(?=\D*$)/, number)
  return replaced === expression ? undefined : { type: 'calculate', expression: replaced }
}

// Only what was calculated lately is meant by "that".
function lastExpression({ asked }: Before): string | undefined {
  const lately = asked.slice(-4).map(({ intent }) => intent)
  return lately.findLast((intent) => intent.type === 'calculate')?.expression
}
