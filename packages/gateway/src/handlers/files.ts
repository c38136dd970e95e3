import { RUN_ERR_BAD_RANGE } from '@svc/contract/errors'
import { readBytes, requireFile, requireRun } from '@svc/surface'
import { GTW_ERR_BAD_PAYLOAD } from '../errors.ts'
import type { FileChunk } from '../events/acknowledgements.ts'
import type { FileEvent } from '../events/client-events.ts'
import type { Handler } from './handler.ts'

/** Bytes of one answer: a file in larger ones would hold back the events of the connection. */
const MAX_CHUNK = 262_144

/**
 * `run.file`: answers with bytes of a file of a run, and what is known of it.
 * @throws RUN_ERR_NOT_FOUND, RUN_ERR_FILES_NOT_KEPT, RUN_ERR_FILE_NOT_FOUND, RUN_ERR_BAD_RANGE, RUN_ERR_DAMAGED, RUN_ERR_STORE,
 * GTW_ERR_BAD_PAYLOAD, GTW_ERR_TOO_MANY_READS
 */
export const readFile: Handler<FileEvent> = async (surface, connection, payload) => {
  const { runId, fileId, start = 0, end: wanted = Infinity } = payload
  if (wanted < start) throw new GTW_ERR_BAD_PAYLOAD('end: expected at least start')
  return connection.readInTurn(async () => {
    await requireRun(surface, runId, connection.principal)
    const source = { files: surface.runs.stores.files, log: surface.log }
    const { createdAt: _, ...file } = await requireFile(source, runId, fileId)
    if (start > file.size) throw new RUN_ERR_BAD_RANGE(file.size)
    const end = Math.min(wanted, file.size, start + MAX_CHUNK)
    const data = Buffer.concat(await Array.fromAsync(readBytes(source, runId, fileId, { start, end })))
    return { ack: { file, start, end, data } satisfies FileChunk }
  })
}
