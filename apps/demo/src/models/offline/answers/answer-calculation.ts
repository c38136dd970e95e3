import { outcomeOf, type ToolOutcome } from '../conversation.ts'
import type { Intent } from '../intents/intent.ts'
import { calculateCall } from '../plan.ts'

interface CalculateResult {
  value: string
  exact: boolean
  error: string
}

/** Tells the result of a calculation, or why there is none. */
export function answerCalculation(
  { expression, claimed }: Extract<Intent, { type: 'calculate' }>,
  outcomes: readonly ToolOutcome[]
): string {
  const outcome = outcomeOf(outcomes, calculateCall(expression))
  if (outcome === undefined) return 'I cannot calculate that: the tool `calculate` is not available here.'
  const shown = expression
    .replace(/\s*([*/^%+])\s*/g, ' $1 ')
    .replace(/ \^ /g, '^')
    .replace(/ %(?= |$)(?! [\w(])/g, '%')
    .trim()
  const { value, exact, error = outcome.error } = (outcome.result ?? {}) as Partial<CalculateResult>
  if (error !== undefined) return `I could not calculate ${shown}: ${error.replace(/\.$/, '')}.`
  const answer = `${shown} ${exact ? '=' : '≈'} ${value}`
  if (claimed === undefined) return answer
  return Number(claimed) === Number(value) ? `Yes: ${answer}` : `No: ${answer}, not ${claimed}`
}
