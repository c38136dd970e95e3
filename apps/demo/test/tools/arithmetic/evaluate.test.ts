import t from 'tap'
import { evaluate } from '../../../src/tools/arithmetic/evaluate.ts'
import { Decimal } from '../../../src/tools/arithmetic/functions.ts'

t.test('arithmetic is exact', async (t) => {
  const cases: [string, string][] = [
    ['12 * (3+4)', '84'],
    ['0.1 + 0.2', '0.3'],
    ['-2^2', '-4'],
    ['2^-1', '0.5'],
    ['2^3^2', '512'],
    ['2**10', '1024'],
    ['5*-2^2', '-20'],
    ['17 % 5', '2'],
    ['15% * 80', '12'],
    ['80 * 15%', '12'],
    ['5!', '120'],
    ['20!', '2432902008176640000'],
    ['-5 + 3', '-2'],
    ['2^100', '1267650600228229401496703205376'],
    ['sqrt(2)^2', '2'],
    ['sin(pi)', '0'],
    ['log(100)', '2'],
    ['max(1, 9, 3) + MIN(4, 2)', '11'],
    ['mean(1, 2, 6)', '3'],
    ['round(2.567, 1)', '2.6'],
    ['root(27, 3)', '3'],
    ['1e3 + .5', '1000.5']
  ]
  for (const [expression, value] of cases)
    t.strictSame(evaluate(expression), { value, exact: true }, expression)
})

t.test('what is rounded says so', async (t) => {
  t.strictSame(evaluate('1/3'), { value: '0.333333333333333', exact: false })
  t.strictSame(evaluate('2^1000'), { value: '1.07150860718627e+301', exact: false })
  t.strictSame(evaluate('1e400'), { value: '1e+400', exact: true })
})

t.test('what is no arithmetic is refused, with a reason', async (t) => {
  const cases: [string, RegExp][] = [
    ['1/0', /division by zero/],
    ['5 % 0', /division by zero/],
    ['0^-1', /division by zero/],
    ['sqrt(-1)', /no real result/],
    ['9^9^9', /too large/],
    ['1001!', /whole number/],
    ['x + 1', /"x" is unknown/],
    ['sqrt(1, 2)', /number of arguments/],
    ['((1', /Unclosed/],
    ['1 & 2', /operator "&"/],
    ['"1" + 1', /only numbers/],
    ['', /only numbers/],
    ['1, 2', /only numbers/],
    ['1 '.repeat(251), /500 characters/],
    ['sin(1e4000)', /an angle is at most/],
    [`${'acos(0.1)+'.repeat(26)}1`, /more than 25 functions and powers/],
    [`1${'!'.repeat(26)}`, /more than 25/]
  ]
  for (const [expression, message] of cases) t.throws(() => evaluate(expression), { message }, expression)
})

t.test('nothing of JavaScript can be reached', async (t) => {
  const attempts = [
    'process.exit(1)',
    'constructor.constructor("return process")()',
    'this',
    '[].map',
    '__proto__',
    'toString()',
    'a = 1',
    'sqrt.constructor("x")',
    '(() => 1)()',
    '`${1}`'
  ]
  for (const attempt of attempts) t.throws(() => evaluate(attempt), attempt)
})

t.test('deep nesting and long powers end quickly', async (t) => {
  t.equal(evaluate(`${'('.repeat(240)}1${')'.repeat(240)}`).value, '1')
  const before = performance.now()
  t.throws(() => evaluate('9^9^9^9^9'))
  t.ok(evaluate('1000! / 999!').value === '1000')
  t.ok(performance.now() - before < 2_000)
})

t.test('what fails half-way leaves nothing behind', async (t) => {
  const { precision, rounding } = Decimal
  for (const attempt of [
    'sin(1e4999)',
    'tan(1e-4999)',
    'log(1e4999, 1 + 1e-90)',
    'acos(2)',
    'ln(0)',
    'exp(99999)'
  ])
    try {
      evaluate(attempt)
    } catch {
      // What it says does not matter here.
    }
  t.strictSame([Decimal.precision, Decimal.rounding], [precision, rounding])
  t.equal(evaluate('root(8, 3)').value, '2')
})
