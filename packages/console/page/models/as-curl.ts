import { currentToken } from '../api/access.ts'
import { urlOf } from '../api/client.ts'
import { runStream } from '../api/resources.ts'
import type { RunModel } from './run-model.ts'

/** The start of a run as a command of curl; undefined if its input is not known, or has files that are not repeated. */
export function startAsCurl({ start }: Pick<RunModel, 'start'>): string | undefined {
  if (start?.input === undefined || hasFiles(start.input)) return undefined
  const body = { input: start.input, ...(start.metadata && { metadata: start.metadata }) }
  return [
    `curl -N ${quote(urlOf(`${start.kind}s/${encodeURIComponent(start.name)}/stream`).href)}`,
    ...authorization(),
    `-H 'content-type: application/json'`,
    `-d ${quote(JSON.stringify(body))}`
  ].join(' \\\n  ')
}

/** The log of a run as a command of curl. */
export function logAsCurl(runId: string): string {
  return [`curl -N ${quote(urlOf(runStream(runId)).href)}`, ...authorization()].join(' \\\n  ')
}

// The token itself stays in the page.
const authorization = () => (currentToken() === undefined ? [] : ['-H "authorization: Bearer $TOKEN"'])

/** A word of a POSIX shell: XCU, section 2.2.2. */
const quote = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

const hasFiles = (input: unknown) =>
  Array.isArray(input) &&
  input.some((part) => typeof (part as { sha256?: unknown } | null)?.sha256 === 'string')
