import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { RUN_ERR_BAD_SKILL } from '../errors.ts'
import { defineSkill, type Skill } from './skill.ts'

/**
 * Writes a skill as `<folder>/<name>/SKILL.md`, whole or not at all; gives it as `loadSkills` would.
 * @throws RUN_ERR_BAD_SKILL when it cannot be a skill, or there is one with its name
 */
export async function saveSkill(
  skill: Pick<Skill, 'name' | 'description' | 'instructions'>,
  folder: string | URL
): Promise<Skill> {
  // Its name is checked first: it can hold no path.
  const { name, description, instructions } = defineSkill(skill)
  const root = typeof folder === 'string' ? resolve(folder) : fileURLToPath(folder)
  const target = join(root, name)
  const written = join(root, `.${name}.${randomUUID()}`)
  await mkdir(written, { recursive: true })
  try {
    await writeFile(
      join(written, 'SKILL.md'),
      `---\n${stringify({ name, description })}---\n\n${instructions.trim()}\n`
    )
    // Fails where a folder that is not empty stands: nothing is written over.
    await rename(written, target)
  } catch (err) {
    await rm(written, { recursive: true, force: true })
    const { code } = err as NodeJS.ErrnoException
    const fault =
      code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR' ? 'there is one already' : code
    throw new RUN_ERR_BAD_SKILL(`"${name}" cannot be saved: ${fault}`)
  }
  return defineSkill({ name, description, instructions: instructions.trim(), folder: target, files: [] })
}
