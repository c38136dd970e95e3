import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'
import { evaluate } from './arithmetic/evaluate.ts'
import { FUNCTIONS } from './arithmetic/functions.ts'

/** Evaluates arithmetic exactly; nothing but arithmetic is understood. */
export const calculate = defineTool({
  name: 'calculate',
  description: `Evaluates an arithmetic expression in exact decimals. It knows + - * / % ^, parentheses, 5! and 15%, the constants pi and e, and the functions ${[...FUNCTIONS.keys()].join(', ')}; angles are in radians.`,
  input: Type.Object(
    { expression: Type.String({ minLength: 1, maxLength: 500, description: 'For example 12 * (3 + 4)' }) },
    { additionalProperties: false }
  ),
  execute({ expression }) {
    try {
      return { expression, ...evaluate(expression) }
    } catch (err) {
      // No fault of the tool: the model is told what is wrong with the expression.
      return { expression, error: (err as Error).message }
    }
  }
})
