import { pathSegment } from '@svc/registry/kit'

/** What a `run://` URI names: the log of a run, or a file of it. */
export interface RunResource {
  readonly runId: string
  readonly fileId?: string
}

/** The URI of the log of a run. */
export function runUri(runId: string): string {
  return `run://${pathSegment(runId)}`
}

/** The URI of a file of a run. */
export function fileUri(runId: string, fileId: string): string {
  return `${runUri(runId)}/files/${pathSegment(fileId)}`
}

/** Reads a URI; undefined if it is none of a run. */
export function readRunUri(uri: string): RunResource | undefined {
  const found = /^run:\/\/([^/?#]+)(?:\/files\/([^/?#]+))?$/.exec(uri)
  if (found === null) return undefined
  try {
    const [, runId = '', fileId] = found
    return {
      runId: decodeURIComponent(runId),
      ...(fileId !== undefined && { fileId: decodeURIComponent(fileId) })
    }
  } catch {
    return undefined
  }
}
