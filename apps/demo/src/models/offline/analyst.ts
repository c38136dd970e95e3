import type { ScriptedModel } from '@svc/runtime/testing'
import { callThenAnswer, ruleModel, type Conversation, type Move, type Outcome } from './rule-model.ts'

const HELP =
  'Send me some numbers, and I write a program for their statistics; or send a program in a code block (```js), and I run it in the sandbox.'

/** Runs the program of a message, or writes one for its numbers. */
export function createOfflineAnalyst(): ScriptedModel {
  return ruleModel('offline-analyst', decide)
}

function decide({ message, outcomes }: Conversation): Move {
  const code = toProgram(message)
  if (code === undefined) return { answer: HELP }
  return callThenAnswer(outcomes, { toolName: 'compute', args: { code } }, format)
}

/** The program that a message asks for: its own code block, or one for its numbers. */
export function toProgram(message: string): string | undefined {
  const block = /```(?:js|javascript)?\s*\n([^]*?)```/i.exec(message)?.[1]
  if (block !== undefined || message.includes('```')) return block
  const numbers = numbersOf(message)
  if (numbers.length < 2) return undefined
  return `const numbers = ${JSON.stringify(numbers)}
const sorted = [...numbers].sort((a, b) => a - b)
const middle = sorted.length >> 1
const expression = numbers.map((n) => \`(\${n})\`).join(' + ')
// The tool adds exactly, but takes only so many characters.
const { value: sum = String(numbers.reduce((a, b) => a + b)) } = await tools.calculate({ expression }).catch(() => ({}))
return {
  count: numbers.length,
  sum: Number(sum),
  mean: sum / numbers.length,
  median: sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2,
  min: sorted[0],
  max: sorted.at(-1)
}`
}

// "1,000 and 2,000" has two numbers; "100,200" alone has two as well.
function numbersOf(text: string): number[] {
  const grouped = text.match(/(?<!\d)-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?/g) ?? []
  const all = grouped.length > 1 ? grouped : (text.match(/(?<!\d)-?\d+(?:\.\d+)?/g) ?? [])
  return all.map((number) => Number(number.replaceAll(',', '')))
}

function format({ result, error }: Outcome): string {
  if (error !== undefined) return `The program failed. ${error}`
  const { result: value, console } = (result ?? {}) as { result?: unknown; console?: string }
  const written = console === undefined ? '' : `\n\nIt wrote:\n${console}`
  return `The program gave:\n${JSON.stringify(value, null, 2)}${written}`
}
