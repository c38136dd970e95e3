import { isDeeperThan, MAX_DEPTH } from './json-faults.ts'

/** The arguments of a tool call from the text that the model gave; that text and what is wrong with it when it is no JSON. */
export function parseArgs(text: string): { args: unknown; fault?: string } {
  if (typeof text !== 'string' || text.trim() === '') return { args: {} }
  try {
    const args: unknown = JSON.parse(text)
    if (isDeeperThan(args, MAX_DEPTH))
      return { args: text, fault: `they are nested deeper than ${MAX_DEPTH}` }
    return { args }
  } catch (err) {
    return { args: text, fault: `they are no JSON: ${(err as Error).message}` }
  }
}

const FENCED = /^```[\w-]*[ \t]*\r?\n([\s\S]*?)\r?\n?```$/

/** The JSON value of a model's answer, which may stand between fences; undefined when it is none. */
export function readJson(text: string): unknown {
  const trimmed = text.trim()
  try {
    const value: unknown = JSON.parse(FENCED.exec(trimmed)?.[1] ?? trimmed)
    return isDeeperThan(value, MAX_DEPTH) ? undefined : value
  } catch {
    return undefined
  }
}
