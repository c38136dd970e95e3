import type { Script } from '@svc/runtime/testing'
import { ANSWER, CHUNKS } from './quick.ts'

const usage = { promptTokens: 10, completionTokens: 20 }

/** What the model of a variant says. */
export function toScript(variant: string): Script {
  const answer = {
    text: variant === 'run-one' ? ANSWER : CHUNKS,
    usage,
    ...(variant.endsWith('-paced') && { delay: 1 }),
    ...(variant.endsWith('-open') && { hangs: 'stream' as const })
  }
  const call = { toolCalls: [{ toolName: 'add', args: { a: 1, b: 2 } }], usage }
  // The tool's result is the last thing that the model is shown before it answers.
  return ({ prompt }) => (variant.endsWith('-tool') && prompt.at(-1)?.role !== 'tool' ? call : answer)
}
