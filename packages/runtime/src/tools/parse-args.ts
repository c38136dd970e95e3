import { isDeeperThan, MAX_DEPTH } from './json-depth.ts'

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
