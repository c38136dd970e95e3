import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { RUN_ERR_BAD_SKILL } from '../errors.ts'
import { defineSkill, type Skill } from './skill.ts'

/**
 * Saves a skill atomically as `<folder>/<name>/SKILL.md`; returns it as `loadSkills` would.
 * @throws RUN_ERR_BAD_SKILL if it is invalid, or its name is taken
 */
export async function saveSkill(
  skill: Pick<Skill, 'name' | 'description' | 'instructions'>,
  folder: string | URL
): Promise<Skill> {
  // `defineSkill` checks the name, so it cannot contain a path.
  const { name, description, instructions } = defineSkill(skill)
  const root = typeof folder === 'string' ? resolve(folder) : fileURLToPath(folder)
  const target = join(root, name)
  const draft = join(root, `.${name}.${randomUUID()}`)
  await mkdir(draft, { recursive: true })
  try {
    await writeFile(
      join(draft, 'SKILL.md'),
      `---\n${stringify({ name, description })}---\n\n${instructions.trim()}\n`
    )
    // Fails on a non-empty folder, so nothing is overwritten.
    await rename(draft, target)
  } catch (err) {
    await rm(draft, { recursive: true, force: true })
    const { code } = err as NodeJS.ErrnoException
    const fault = code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR' ? 'it already exists' : code
    throw new RUN_ERR_BAD_SKILL(`"${name}" cannot be saved: ${fault}`)
  }
  return defineSkill({ name, description, instructions: instructions.trim(), folder: target, files: [] })
}
