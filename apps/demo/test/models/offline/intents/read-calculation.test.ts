import t from 'tap'
import type { Before } from '../../../../src/models/offline/intents/intent.ts'
import { readCalculation } from '../../../../src/models/offline/intents/read-calculation.ts'

const nothing: Before = { asked: [], readSections: [] }
const after = (expression: string): Before => ({
  asked: [{ text: '', turn: 0, intent: { type: 'calculate', expression } }],
  readSections: []
})
const expressionOf = (text: string, before = nothing) => {
  const intent = readCalculation(text, before)
  return intent?.type === 'calculate' ? intent.expression : undefined
}

t.test('calculations in signs and in words', async (t) => {
  const cases: [string, string][] = [
    ['what is 12 * (3+4)?', '12 * (3+4)'],
    ['how much is 15% of 80', '15 / 100 * 80'],
    ['2 to the power of 10', '2 ^ 10'],
    ['What is twenty-one plus two hundred and five?', '21 + 205'],
    ['square root of 144', 'sqrt(144)'],
    ['√16 + 3²', 'sqrt(16) + 3^2'],
    ['what is 5!', '5!'],
    ['1,000 + 2,500', '1000 + 2500'],
    ['7 x 8', '7 * 8'],
    ['7 × 8 ÷ 2', '7 * 8 / 2'],
    ['12 divided by 0', '12 / 0'],
    ['subtract 3 from 10', '10 - 3'],
    ['what percent of 80 is 20?', '20 / 80 * 100'],
    ['20% off 50', '50 * (1 - 20 / 100)'],
    ['average of 1, 2 and 6', 'average(1, 2, 6)'],
    ['maximum of 3, 9', 'max(3, 9)'],
    ['product of 3 and 4', '3 * 4'],
    ['half of 90', '90 / 2'],
    ['9 squared', '9^2'],
    ['$20 + $30', '20 + 30'],
    ['¿Cuánto es 12*3?', '12*3'],
    ['1+1=?', '1+1'],
    ['(2+3)*(4+5)', '(2+3)*(4+5)']
  ]
  for (const [text, expression] of cases) t.equal(expressionOf(text), expression, text)
})

t.test('what only has numbers in it is none', async (t) => {
  const others = [
    'what happens after 3 retries?',
    'HTTP 404 or 409?',
    'what is 2026-11-21?',
    'do you work 24/7?',
    'Which Node version, 22.13 or 24?',
    'three tools in parallel',
    'status 200-299?',
    'port 3000',
    'what is a run?'
  ]
  for (const text of others) t.equal(expressionOf(text), undefined, text)
})

t.test('a calculation goes on from the one before', async (t) => {
  const cases: [string, string | undefined][] = [
    ['and times 2?', '(3+4) * 2'],
    ['plus 10', '(3+4) + 10'],
    ['divide that by 7', '(3+4) / 7'],
    ['and squared?', '(3+4) ^2'],
    ['double it', '2 * (3+4)'],
    ['now add 5', '(3+4) + 5'],
    ['the square root of that', 'sqrt((3+4))'],
    ['what about 9?', '3+9'],
    ['and 7 * 3?', '7 * 3'],
    ['tell me more about that', undefined],
    ['how does that work?', undefined]
  ]
  for (const [text, expression] of cases) t.equal(expressionOf(text, after('3+4')), expression, text)
  t.equal(expressionOf('and times 2?'), undefined, 'nothing to go on from')
})

t.test('a claim is read with it', async (t) => {
  t.match(readCalculation('is 2+2=5?', nothing), { expression: '2+2', claimed: '5' })
})

t.test('long input is read quickly', async (t) => {
  const before = performance.now()
  for (const text of ['1+'.repeat(10_000), '('.repeat(20_000), '9 '.repeat(10_000), 'one '.repeat(5_000)])
    readCalculation(text, after('1+1'))
  t.ok(performance.now() - before < 3_000, `${performance.now() - before} ms`)
})
