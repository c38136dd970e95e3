import jsep from 'jsep'
import { CONSTANTS, Decimal, FUNCTIONS, PRECISION } from './functions.ts'

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

type Scope = jsep.HookScope
type Node = jsep.Expression

// Arithmetic that JavaScript lacks: `^` for powers, which bind tighter than a sign, `5!` and `15%`.
jsep.addBinaryOp('^', 11, true)
jsep.hooks.add('gobble-token', function (this: Scope, env) {
  this.gobbleSpaces()
  // The parser calls no hook after a number, so it is read here to see a postfix.
  if (/[\d.]/.test(this.char)) {
    const node = this.gobbleNumericLiteral()
    if (node !== undefined) env.node = node
    return
  }
  if (this.char !== '-' && this.char !== '+') return
  const operator = this.char
  this.index++
  env.node = { type: 'UnaryExpression', operator, argument: gobblePower(this), prefix: true }
})
jsep.hooks.add('after-token', function (this: Scope, env) {
  for (;;) {
    this.gobbleSpaces()
    const name = postfixAt(this.expr, this.index)
    if (name === undefined || env.node === undefined) return
    this.index++
    const callee = { type: 'Identifier', name }
    env.node = { type: 'CallExpression', callee, arguments: [env.node] }
  }
})

/** Parses an arithmetic expression. @throws if it is malformed */
function parseExpression(source: string): Node {
  return jsep(source.replaceAll('**', '^'))
}

function postfixAt(source: string, index: number): string | undefined {
  const rest = source.slice(index)
  if (/^!(?!=)/.test(rest)) return 'factorial'
  // A percent sign before an operand is the remainder operator.
  if (/^%(?!\s*[\w(.])/.test(rest)) return 'percent'
  return undefined
}

function gobblePower(scope: Scope): Node {
  const base = scope.gobbleToken()
  if (base === undefined) return scope.throwError('Expected a number')
  scope.gobbleSpaces()
  if (scope.char !== '^') return base
  scope.index++
  return { type: 'BinaryExpression', operator: '^', left: base, right: gobblePower(scope) }
}
