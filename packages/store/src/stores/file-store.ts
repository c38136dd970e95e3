import { randomId, type FileStore, type RunFence, type StoredFile } from '@svc/contract'
import { RUN_ERR_FILE_LIMIT } from '@svc/contract/errors'
import type { Kysely, Selectable } from 'kysely'
import type { SkipDamaged } from '../encoding/values.ts'
import { MeasuredContent, type Allowance, type FileBytes } from '../files/file-bytes.ts'
import { Refused, type Commit } from '../commit.ts'
import type { FileLimits } from '../options.ts'
import { requireEpoch } from '../rows/run-rows.ts'
import type { Tables } from '../tables.ts'

/**
 * Files of runs: what is known about them in SQL, and their bytes elsewhere. A file is there once its row is, which is written after the
 * bytes and removed before them.
 * @param writing gets the ids of the files that are being written
 */
export function createFileStore(
  db: Kysely<Tables>,
  commit: Commit,
  bytes: FileBytes,
  writing: Set<string>,
  limits: FileLimits,
  skipDamaged: SkipDamaged
): FileStore {
  const insert = (row: Tables['file'], fence: RunFence | undefined) =>
    commit.write(async (trx) => {
      await requireEpoch(trx, fence, commit.isShared)
      if ((await bytesOfRun(trx, row.run_id)) + row.size > limits.maxRunBytes)
        throw new Refused(new RUN_ERR_FILE_LIMIT(limits.maxRunBytes))
      await trx.insertInto('file').values(row).execute()
      await trx
        .updateTable('run')
        .set((set) => ({ file_bytes: set('file_bytes', '+', row.size) }))
        .where('run_id', '=', row.run_id)
        .execute()
    })

  return {
    async put(runId, { mimeType, filename, content }, fence) {
      const fileId = randomId()
      writing.add(fileId)
      try {
        const measured = new MeasuredContent(content, allowanceFor(await bytesOfRun(db, runId), limits))
        await bytes.write({ runId, fileId }, measured)
        const row = {
          file_id: fileId,
          run_id: runId,
          mime_type: mimeType,
          filename: filename ?? null,
          size: measured.size,
          sha256: measured.sha256(),
          created_at: Date.now()
        }
        await insert(row, fence).catch(async (err: unknown) => {
          await removeBytes(bytes, [fileId])
          throw err
        })
        return toStoredFile(row)
      } finally {
        writing.delete(fileId)
      }
    },
    async get(runId, fileId, { start, end = Infinity } = { start: 0 }) {
      const row = await db
        .selectFrom('file')
        .selectAll()
        .where('file_id', '=', fileId)
        .where('run_id', '=', runId)
        .executeTakeFirst()
      if (row === undefined) return undefined
      const { size } = row
      if ((await bytes.size({ runId, fileId })) !== size) return skipDamaged('file', fileId)
      return { file: toStoredFile(row), content: bytes.read({ runId, fileId }, start, Math.min(end, size)) }
    },
    async remove(runIds) {
      if (runIds.length === 0) return
      const fileIds = await commit.write(async (trx) => {
        const rows = await trx.deleteFrom('file').where('run_id', 'in', runIds).returning('file_id').execute()
        if (rows.length > 0)
          await trx.updateTable('run').set({ file_bytes: 0 }).where('run_id', 'in', runIds).execute()
        return rows.map(({ file_id }) => file_id)
      })
      await removeBytes(bytes, fileIds)
    }
  }
}

async function bytesOfRun(db: Kysely<Tables>, runId: string): Promise<number> {
  const { bytes } = await db
    .selectFrom('file')
    .select((select) => select.fn.coalesce(select.fn.sum<number>('size'), select.lit(0)).as('bytes'))
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow()
  return bytes
}

function allowanceFor(used: number, { maxBytes, maxRunBytes }: FileLimits): Allowance {
  const left = maxRunBytes - used
  return left < maxBytes ? { bytes: left, limit: maxRunBytes } : { bytes: maxBytes, limit: maxBytes }
}

// Without their rows the files are gone; the sweep tries again.
async function removeBytes(bytes: FileBytes, fileIds: readonly string[]): Promise<void> {
  await bytes.remove(fileIds).catch(() => {})
}

function toStoredFile(row: Selectable<Tables['file']>): StoredFile {
  const { file_id, mime_type, filename, size, sha256, created_at } = row
  return {
    fileId: file_id,
    mimeType: mime_type,
    ...(filename !== null && { filename }),
    size,
    sha256,
    createdAt: created_at
  }
}
