import { constants, open, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { RUN_ERR_BAD_SKILL } from '../errors.ts'
import { MAX_SKILL_BYTES, type Skill } from './skill.ts'

/** Reads a text file that was listed when the skill was loaded. @throws RUN_ERR_BAD_SKILL, or an error for an unknown file */
export function readSkillFile({ name, folder, files = [] }: Skill, path: string): Promise<string> {
  // Opens listed files only, never an arbitrary path of the model.
  if (folder === undefined || !files.includes(path)) {
    const known = files.length === 0 ? 'it has none' : `it has ${files.slice(0, 50).join(', ')}`
    throw new Error(`the skill "${name}" has no file "${path.slice(0, 200)}"; ${known}`)
  }
  return readText(folder, path)
}

/** Reads a file within a folder as UTF-8. @throws RUN_ERR_BAD_SKILL for a link, a large file or a binary file */
export async function readText(folder: string, path: string): Promise<string> {
  const root = await realpath(folder)
  const real = await realpath(join(root, path)).catch(() => undefined)
  if (real === undefined || real !== join(root, path) || !real.startsWith(root + sep))
    throw new RUN_ERR_BAD_SKILL(`${path} is not a file of the skill`)
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_SKILL_BYTES + 1) })
    if (bytesRead > MAX_SKILL_BYTES)
      throw new RUN_ERR_BAD_SKILL(`${path} has more than ${MAX_SKILL_BYTES} bytes`)
    return decode(buffer.subarray(0, bytesRead), path)
  } finally {
    await file.close()
  }
}

function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new RUN_ERR_BAD_SKILL(`${path} is not UTF-8 text`)
  }
}
