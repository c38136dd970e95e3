import { Type } from '@sinclair/typebox'
import { defineTool } from '@svc/runtime'
import { evaluate } from './arithmetic/evaluate.ts'
import { FUNCTIONS } from './arithmetic/functions.ts'

/** Evaluates arithmetic, and nothing else, exactly. */
export const calculate = defineTool({
  name: 'calculate',
  description: `Evaluates an arithmetic expression in exact decimals. It knows + - * / % ^, parentheses, 5! and 15%, the constants pi and e, and the functions ${[...FUNCTIONS.keys()].join(', ')}; angles are in radians.`,
  inputSchema: Type.Object(
    { expression: Type.String({ minLength: 1, maxLength: 500, description: 'For example 12 * (3 + 4)' }) },
    { additionalProperties: false }
  ),
  execute({ expression }) {
    try {
      return { expression, ...evaluate(expression) }
    } catch (err) {
      // A result, not an error of the tool, so that the model sees the reason.
      return { expression, error: (err as Error).message }
    }
  }
})
