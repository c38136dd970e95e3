import type jsep from 'jsep'
import { CONSTANTS, Decimal, FUNCTIONS, PRECISION } from './functions.ts'
import { parseExpression } from './parse-expression.ts'

/** The result of an expression. */
export interface Evaluation {
  /** In plain digits if that is readable, else in scientific notation. */
  value: string
  /** False when `value` is rounded. */
  exact: boolean
}

const MAX_DIGITS = 15
const MAX_LENGTH = 500
/** Functions and powers per expression, since each takes milliseconds. */
const MAX_STEPS = 25

/**
 * Evaluates an arithmetic expression in exact decimals: 0.1 + 0.2 is 0.3, 2^100 has all its digits. JavaScript is out of its
 * reach: it knows only numbers, operators, parentheses, FUNCTIONS and CONSTANTS.
 * @throws an Error with the reason
 */
export function evaluate(expression: string): Evaluation {
  if (expression.length > MAX_LENGTH) throw new Error(`the expression has more than ${MAX_LENGTH} characters`)
  if ((expression.match(/\w\s*\(|\^|\*\*|!/g)?.length ?? 0) > MAX_STEPS)
    throw new Error(`the expression has more than ${MAX_STEPS} functions and powers`)
  const value = calculate(expression)
  if (value.isNaN()) throw new Error('the expression has no real result')
  if (!value.isFinite()) throw new Error('the result is too large')
  // The last digits of 100 are noise: without them sqrt(2)^2 is 2 and sin(pi) 0.
  return write(value.toDecimalPlaces(80).toSignificantDigits(75))
}

function calculate(expression: string): Decimal {
  try {
    return valueOf(parseExpression(expression))
  } finally {
    // A function that fails leaves its working precision behind.
    Decimal.set(PRECISION)
  }
}

function valueOf(node: jsep.Expression): Decimal {
  const known = node as jsep.CoreExpression
  switch (known.type) {
    case 'Literal':
      if (typeof known.value !== 'number') break
      return new Decimal(known.raw)
    case 'Identifier':
      return constant(known.name)
    case 'UnaryExpression':
      if (known.operator === '-') return valueOf(known.argument).neg()
      if (known.operator === '+') return valueOf(known.argument)
      break
    case 'BinaryExpression':
      return binary(known.operator, valueOf(known.left), valueOf(known.right))
    case 'CallExpression':
      return call(known)
    default:
  }
  throw new Error('only numbers, + - * / % ^ ! and functions such as sqrt(2) are understood')
}

function constant(name: string): Decimal {
  const value = CONSTANTS.get(name.toLowerCase())
  if (value === undefined) throw new Error(`"${name}" is unknown`)
  return value
}

function binary(operator: string, a: Decimal, b: Decimal): Decimal {
  switch (operator) {
    case '+':
      return a.add(b)
    case '-':
      return a.sub(b)
    case '*':
      return a.mul(b)
    case '/':
      if (b.isZero()) throw new Error('a division by zero has no result')
      return a.div(b)
    case '%':
      if (b.isZero()) throw new Error('a division by zero has no result')
      return a.mod(b)
    case '^':
      if (a.isZero() && b.isNegative()) throw new Error('a division by zero has no result')
      return a.pow(b)
    default:
      throw new Error(`the operator "${operator}" is unknown`)
  }
}

function call({ callee, arguments: args }: jsep.CallExpression): Decimal {
  const name = callee.type === 'Identifier' ? (callee as jsep.Identifier).name : ''
  const known = FUNCTIONS.get(name.toLowerCase())
  if (known === undefined) throw new Error(`"${name}" is no function that is known`)
  const [least, most] = known.arity
  if (args.length < least || args.length > most) throw new Error(`${name} takes another number of arguments`)
  return known.apply(...args.map(valueOf))
}

function write(value: Decimal): Evaluation {
  if (value.isInteger() && value.e < 60) return { value: value.toFixed(), exact: true }
  const rounded = value.toSignificantDigits(MAX_DIGITS)
  const plain = rounded.e > -7 && rounded.e < 21
  return { value: plain ? rounded.toFixed() : rounded.toExponential(), exact: rounded.eq(value) }
}
