import { constants, open, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { RUN_ERR_BAD_SKILL } from '../errors.ts'
import { MAX_SKILL_BYTES, type Skill } from './skill.ts'

/** A text file of a skill that it listed when it was loaded. @throws RUN_ERR_BAD_SKILL, or when it has no such file */
export function readSkillFile({ name, folder, files = [] }: Skill, path: string): Promise<string> {
  // Only what is on the list is opened: no path of a model's making is.
  if (folder === undefined || !files.includes(path)) {
    const known = files.length === 0 ? 'it has none' : `it has ${files.slice(0, 50).join(', ')}`
    throw new Error(`there is no skill "${name}" with a file "${path.slice(0, 200)}"; ${known}`)
  }
  return readText(folder, path)
}

/** A file within a folder, as UTF-8 text. @throws RUN_ERR_BAD_SKILL when it is a link, too large or no text */
export async function readText(folder: string, path: string): Promise<string> {
  const root = await realpath(folder)
  const real = await realpath(join(root, path)).catch(() => undefined)
  if (real === undefined || real !== join(root, path) || !real.startsWith(root + sep))
    throw new RUN_ERR_BAD_SKILL(`${path} is no file of the skill`)
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
    throw new RUN_ERR_BAD_SKILL(`${path} is no text in UTF-8`)
  }
}
