import { Decimal as BaseDecimal } from 'decimal.js'

/** Numbers with 100 significant digits, up to 10^5000. */
export const PRECISION = { precision: 100, rounding: 4, maxE: 5000, minE: -5000 } as const
export const Decimal = BaseDecimal.clone(PRECISION)
export type Decimal = InstanceType<typeof Decimal>

/** An arithmetic function and its number of arguments. */
interface ArithmeticFunction {
  arity: readonly [least: number, most: number]
  apply(...args: Decimal[]): Decimal
}

const MANY = 50
const one = (apply: (x: Decimal) => Decimal): ArithmeticFunction => ({ arity: [1, 1], apply })
const several = (apply: (...args: Decimal[]) => Decimal): ArithmeticFunction => ({ arity: [1, MANY], apply })
const sum = (...args: Decimal[]) => Decimal.sum(...args)
const mean = (...args: Decimal[]) => sum(...args).div(args.length)

/** The functions of an expression, by name. */
export const FUNCTIONS: ReadonlyMap<string, ArithmeticFunction> = new Map(
  Object.entries({
    sqrt: one((x) => x.sqrt()),
    cbrt: one((x) => x.cbrt()),
    abs: one((x) => x.abs()),
    floor: one((x) => x.floor()),
    ceil: one((x) => x.ceil()),
    sin: one((x) => angle(x).sin()),
    cos: one((x) => angle(x).cos()),
    tan: one((x) => angle(x).tan()),
    asin: one((x) => x.asin()),
    acos: one((x) => x.acos()),
    atan: one((x) => x.atan()),
    exp: one((x) => x.exp()),
    ln: one((x) => x.ln()),
    log2: one((x) => Decimal.log2(x)),
    percent: one((x) => x.div(100)),
    factorial: one(factorial),
    round: { arity: [1, 2], apply: (x, places) => x.toDecimalPlaces(places?.toNumber() ?? 0) },
    log: { arity: [1, 2], apply: (x, base) => (base === undefined ? x.log(10) : x.log(base)) },
    root: { arity: [2, 2], apply: (x, degree) => x.pow(new Decimal(1).div(degree)) },
    min: several((...args) => Decimal.min(...args)),
    max: several((...args) => Decimal.max(...args)),
    sum: several(sum),
    mean: several(mean),
    average: several(mean)
  } satisfies Record<string, ArithmeticFunction>)
)

/** The constants of an expression, by name. */
export const CONSTANTS: ReadonlyMap<string, Decimal> = new Map([
  ['pi', Decimal.acos(-1)],
  ['e', Decimal.exp(1)]
])

// The work grows with the digits of an angle before its decimal point.
function angle(x: Decimal): Decimal {
  if (x.abs().gt(1e30)) throw new Error('an angle is at most 10^30')
  return x
}

function factorial(x: Decimal): Decimal {
  if (!x.isInteger() || x.isNegative() || x.gt(1000))
    throw new Error('a factorial is of a whole number from 0 to 1000')
  let product = new Decimal(1)
  for (let factor = 2; x.gte(factor); factor++) product = product.mul(factor)
  return product
}
