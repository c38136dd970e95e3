import jsep from 'jsep'

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
export function parseExpression(source: string): Node {
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
