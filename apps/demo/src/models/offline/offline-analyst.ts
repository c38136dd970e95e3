import { randomUUID } from 'node:crypto'
import type { LanguageModelV4Message } from '@ai-sdk/provider'
import { scriptedModel, type ScriptedModel, type ScriptedTurn } from '@svc/runtime/testing'

const HELP =
  'Send me some numbers, and I write a program for their statistics; or send a program in a code block (```js), and I run it in the sandbox.'

/** A model without a network: runs the program of a message, or writes one for the numbers of a message. */
export function createOfflineAnalyst(): ScriptedModel {
  return scriptedModel(({ prompt }) => decide(prompt.at(-1)), {
    provider: 'offline',
    modelId: 'offline-analyst',
    record: false
  })
}

function decide(last: LanguageModelV4Message | undefined): ScriptedTurn {
  if (last?.role === 'tool') return { text: wordsOf(last) }
  const code = toProgram(textOf(last))
  if (code === undefined) return { text: wordsIn(HELP) }
  return { toolCalls: [{ toolName: 'compute', args: { code }, toolCallId: `call_${randomUUID()}` }] }
}

/** The program that a message asks for: its own code block, or one for its numbers. */
export function toProgram(message: string): string | undefined {
  const block = /```(?:js|javascript)?\s*\n([^]*?)```/i.exec(message)?.[1]
  if (block !== undefined) return block
  const numbers = message.includes('```') ? [] : numbersOf(message)
  if (numbers.length < 2) return undefined
  return `const numbers = ${JSON.stringify(numbers)}
const sorted = [...numbers].sort((a, b) => a - b)
const middle = sorted.length >> 1
const expression = numbers.map((n) => \`(\${n})\`).join(' + ')
// Exact, where it is not too long for the tool.
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

// A comma may be of the thousands, or between two numbers: of the thousands, as long as there are several numbers then.
function numbersOf(text: string): number[] {
  const grouped = text.match(/(?<!\d)-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?/g) ?? []
  const all = grouped.length > 1 ? grouped : (text.match(/(?<!\d)-?\d+(?:\.\d+)?/g) ?? [])
  return all.map((number) => Number(number.replaceAll(',', '')))
}

function textOf(message: LanguageModelV4Message | undefined): string {
  if (message?.role !== 'user') return ''
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}

function wordsOf(message: Extract<LanguageModelV4Message, { role: 'tool' }>): string[] {
  const [answer] = message.content
  const output = answer?.type === 'tool-result' ? answer.output : undefined
  if (output?.type === 'error-text') return wordsIn(`The program failed. ${output.value}`)
  const { result, console } = (output?.type === 'json' ? output.value : {}) as {
    result?: unknown
    console?: string
  }
  const written = console === undefined ? '' : `\n\nIt wrote:\n${console}`
  return wordsIn(`The program gave:\n${JSON.stringify(result, null, 2)}${written}`)
}

function wordsIn(text: string): string[] {
  return text.split(/(?<= )/)
}
