const FENCED = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/i

/**
 * The answer of a model that was asked for JSON: the text if it is JSON, without the fence that some models put around it; else the value
 * that the run has, else the text as it is.
 */
export function readValue(text: string, structured: unknown): string {
  if (isJson(text)) return text
  const inner = FENCED.exec(text)?.[1]
  if (inner !== undefined && isJson(inner)) return inner
  return structured === null || structured === undefined ? text : JSON.stringify(structured)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
