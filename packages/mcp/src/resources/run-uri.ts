import { pathSegment } from '@svc/surface'

/** What a `run://` URI names: the log of a run, or a file of it, or a page of either. */
export interface RunResource {
  readonly runId: string
  readonly fileId?: string
  /** Where the page begins: the `seq` before it in a log, the first byte of a file; 0 at the beginning. */
  readonly place: number
}

/** The URI of the log of a run. @param after the `seq` before its first part */
export function runUri(runId: string, after = 0): string {
  return `run://${pathSegment(runId)}${after === 0 ? '' : `?after=${after}`}`
}

/** The URI of a file of a run. @param from its first byte */
export function fileUri(runId: string, fileId: string, from = 0): string {
  return `${runUri(runId)}/files/${pathSegment(fileId)}${from === 0 ? '' : `?from=${from}`}`
}

/** Reads a URI; undefined if it is none of a run. */
export function readRunUri(uri: string): RunResource | undefined {
  const found = /^run:\/\/([^/?#]+)(?:\?after=(\d{1,15})|\/files\/([^/?#]+)(?:\?from=(\d{1,15}))?)?$/.exec(
    uri
  )
  if (found === null) return undefined
  try {
    const [, runId = '', after, fileId, from] = found
    return {
      runId: decodeURIComponent(runId),
      ...(fileId !== undefined && { fileId: decodeURIComponent(fileId) }),
      place: Number(after ?? from ?? 0)
    }
  } catch {
    return undefined
  }
}
