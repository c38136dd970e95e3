import { termsOf } from '../../../docs/terms.ts'
import { outcomeOf } from '../conversation.ts'
import { findArithmetic, toExpression } from './expression.ts'
import { bareOf, lastArgument, type Question, type Reader } from './question.ts'

const ASKS_RESULT =
  /\b(?:result|answer) (?:of|to) (?:my|our|the|that)\b.*\bcalculation|\bmy last calculation|\bdid i (?:just )?calculate|\bwas the last result/
const FILLER = new Set(
  'result calculate compute evaluate equal equals sum total value number solve add'.split(' ')
)
const UNFINISHED = /^[\d\s.()]*[-+*/^]\s*$/
const CONTINUES = /^(?:[-+*/^%] ?[\d(.]|\^\d)/
const LEAD = /^(?:(?:and|then|now|so|what about|what is|what's|ok|but|also|please)[, ]+)+/i
// A measured or counted number: "5 km", "30 degrees", "3 apples".
const MEASURED =
  /\d\s?(?!percent\b|%|x\b|ans\b|and\b|or\b|in\b|to\b|is\b|off\b|e\b|th\b)([$€£¥]|[a-z]{1,12}\b)/i
const CONVERTS =
  /\bconvert\b|\bhow many \w+ are\b|\b(?:in|to) (?:fahrenheit|celsius|k?m|miles|feet|inches|kg|pounds|usd|eur|dollars|euros)\b/i

/** Reads a calculation in signs or words, which may continue the one before: "and times 2?". */
export const readCalculation: Reader = (text, context) => {
  const last = lastArgument(context, 'calculate', 'expression')
  if (ASKS_RESULT.test(bareOf(text)))
    return last === undefined
      ? { answer: () => 'I have said nothing about a calculation in this session.' }
      : calculate(last)
  const written = toExpression(text)
  if (!/\d|\b(?:ans|pi)\b/.test(written)) return undefined
  return continueFrom(last, text) ?? readUnits(written) ?? readWhole(written)
}

function continueFrom(last: string | undefined, text: string): Question | undefined {
  if (last === undefined) return undefined
  const bare = toExpression(text.replace(LEAD, '')).replace(/^add (\S+)$/i, '+ $1')
  const found = findArithmetic(CONTINUES.test(bare) && !text.startsWith('-') ? `ans ${bare}` : bare)
  if (found === undefined || !/\bans\b/.test(found.expression) || meaningful(found.rest).length > 0)
    return undefined
  return calculate(found.expression.replace(/\bans\b/g, `(${last})`))
}

function readUnits(written: string): Question | undefined {
  const unit = MEASURED.exec(written)?.[1]
  if (unit === undefined || !(CONVERTS.test(written) || /\d ?[^\d()]{0,16} ?[-+*/] ?\d/.test(written)))
    return undefined
  const answer = `I calculate with plain numbers only, without units such as “${unit}”. Send me the numbers, as in “5 * 1.6”.`
  return { answer: () => answer }
}

function readWhole(written: string): Question | undefined {
  const found = findArithmetic(written)
  // The tool reports what is missing.
  if (found === undefined) return UNFINISHED.test(written) ? calculate(written) : undefined
  const { expression, rest } = found
  const isClear = /[*+^(]|\d\s*[-/]\s+\d|\d\s+[-/]\s*\d/.test(expression)
  const strange = meaningful(rest).filter((word) => !/^\d/.test(word))
  if (/\bans\b/.test(expression) || strange.length > (isClear ? 2 : 0)) return undefined
  return calculate(expression, /=\s*\(?(-?\d+(?:\.\d+)?)/.exec(rest)?.[1])
}

function meaningful(text: string): string[] {
  return termsOf(text)
    .map(({ word }) => word)
    .filter((word) => !FILLER.has(word.toLowerCase()))
}

function calculate(expression: string, claimed?: string): Question {
  const call = { toolName: 'calculate', args: { expression } }
  const shown = expression.replace(/ ?([*/+]) ?/g, ' $1 ')
  return {
    calls: () => [call],
    answer(outcomes) {
      const outcome = outcomeOf(outcomes, call)
      if (outcome === undefined) return 'I cannot calculate that: the tool `calculate` is not available here.'
      const result = (outcome.result ?? {}) as { value?: string; exact?: boolean; error?: string }
      const { value, exact, error = outcome.error } = result
      if (error !== undefined) return `I could not calculate ${shown}: ${error.replace(/\.$/, '')}.`
      const answer = `${shown} ${exact ? '=' : '≈'} ${value}`
      if (claimed === undefined) return answer
      return Number(claimed) === Number(value) ? `Yes: ${answer}` : `No: ${answer}, not ${claimed}`
    }
  }
}
