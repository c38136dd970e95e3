import { isDeeperThan, MAX_DEPTH } from '../tools/json-depth.ts'

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
