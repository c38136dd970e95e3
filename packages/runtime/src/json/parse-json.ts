import { isDeeperThan, MAX_DEPTH } from './json-faults.ts'
import { parseWellFormed } from './well-formed.ts'

/** Parses the arguments of a tool call; returns the text itself and its `fault` if it is not JSON. */
export function parseArgs(text: string): { args: unknown; fault?: string } {
  if (typeof text !== 'string' || text.trim() === '') return { args: {} }
  try {
    // Models write null for the arguments of a tool that takes none.
    const args = parseWellFormed(text) ?? {}
    if (isDeeperThan(args, MAX_DEPTH))
      return { args: text, fault: `they are nested deeper than ${MAX_DEPTH}` }
    return { args }
  } catch (err) {
    return { args: text, fault: `they are not JSON: ${(err as Error).message}` }
  }
}

const FENCED = /^```[\w-]*[ \t]*\r?\n([\s\S]*?)\r?\n?```$/

/** Parses a model's answer as JSON, with or without a code fence; undefined if it is not JSON. */
export function readJson(text: string): unknown {
  const trimmed = text.trim()
  try {
    const value: unknown = JSON.parse(FENCED.exec(trimmed)?.[1] ?? trimmed)
    return isDeeperThan(value, MAX_DEPTH) ? undefined : value
  } catch {
    return undefined
  }
}
