import { isTerminalStatus, type NumberedPart, type PartOf, type StoredSession } from '@svc/contract'
import { requireFile } from '../files/send-file.ts'
import { partsOf, type SessionTurn, type TurnAccess } from './session-turns.ts'

/** A file that a turn has made. */
export interface SessionFile {
  readonly runId: string
  readonly fileId: string
  readonly filename?: string | undefined
  readonly mimeType: string
  /** Bytes. */
  readonly size: number
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** The files that a turn has made, oldest first; none while it goes on. @throws RUN_ERR_FILE_NOT_FOUND, RUN_ERR_STORE */
export async function filesOfTurn(
  { runs }: Pick<TurnAccess, 'runs'>,
  session: StoredSession,
  { runId, run }: Pick<SessionTurn, 'runId' | 'run'>
): Promise<SessionFile[]> {
  if (run !== undefined && !isTerminalStatus(run.status)) return []
  const { files } = runs.stores
  const found: SessionFile[] = []
  for await (const part of partsOf({ runs }, session, runId)) {
    if (!isKept(part)) continue
    const { fileId, filename, mimeType, at } = part
    const size = part.size ?? (await requireFile({ files }, runId, fileId)).size
    found.push({ runId, fileId, filename, mimeType, size, at })
  }
  return found
}

function isKept(part: NumberedPart): part is NumberedPart & PartOf<'file'> & { fileId: string } {
  return part.type === 'file' && part.fileId !== undefined
}

const FORM = /^file_([^_]+)_(.+)$/

/** The id of a file of a run on wires whose clients name files by one id: both ids in one. */
export function toFileId(runId: string, fileId: string): string {
  return `file_${runId}_${fileId}`
}

/** Reads the id of a file; undefined if it is none. */
export function readFileId(id: string): { runId: string; fileId: string } | undefined {
  const [, runId, fileId] = FORM.exec(id) ?? []
  return runId === undefined ? undefined : { runId, fileId: fileId! }
}
