import { toExpression } from './to-expression.ts'
import type { Intent } from './intent.ts'

const UNIT =
  '(?:°\\s?[cf]\\b|[€$£¥%]|(?:[kcm]?m|[km]?g|[mc]?l|mph|km/h|lbs?|oz|ft|usd|eur|gbp|jpy|chf|met(?:er|re)s?|(?:kilo|centi|milli)(?:met(?:er|re)|gram)s?|grams?|kilos?|lit(?:er|re)s?|miles?|yards?|feet|foot|inch(?:es)?|pounds?|ounces?|tons?|gallons?|celsius|fahrenheit|kelvin|degrees?|dollars?|euros?|yen|francs?)\\b)'
const MEASURED = new RegExp(String.raw`\d\s*(${UNIT})|\b(?:how many|in|to|into)\s+(${UNIT})`, 'iu')
const CONVERTS = new RegExp(
  String.raw`\bconvert\b|\bhow (?:many|much)\b|\b(?:in|to|into|are|is)\s+${UNIT}`,
  'i'
)
const COUNTED = /\d\s+(\p{L}{2,})\s*[-+*/]\s*\d+(?:\.\d+)?\s*\p{L}{2,}/iu
const OPERATED = /[\p{L}°$€£¥]\s*[-+*/]\s*\d|\d\s*[-+*/]\s*\d/u

/** Reads what would have to be calculated with units, which nothing here can: "5 km in miles", "3 kg plus 4 kg". */
export function readUnits(text: string): Intent | undefined {
  if (!/\d/.test(text) || text.length > 200) return undefined
  const written = toExpression(text)
  const measured = MEASURED.exec(written)
  if (measured !== null && (CONVERTS.test(written) || OPERATED.test(written)))
    return { type: 'units', unit: (measured[1] ?? measured[2])!.trim() }
  const counted = COUNTED.exec(written)
  return counted === null ? undefined : { type: 'units', unit: counted[1]! }
}
