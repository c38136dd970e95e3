import { lstat, readdir, realpath } from 'node:fs/promises'
import { basename, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RUN_ERR_BAD_SKILL } from '../errors.ts'
import { defineSkill, readText, requireHead, type Skill, type SkillHead } from './skill-set.ts'

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/

/**
 * Parses a `SKILL.md`: YAML front matter between two lines of `---`, then the instructions.
 * @throws RUN_ERR_BAD_SKILL
 */
async function parseSkill(text: string): Promise<{ head: SkillHead; instructions: string }> {
  const [, yaml, body = ''] = FRONT_MATTER.exec(text) ?? []
  if (yaml === undefined)
    throw new RUN_ERR_BAD_SKILL('it does not start with front matter between lines of ---')
  const head = await parseYaml(yaml)
  if (typeof head !== 'object' || head === null || Array.isArray(head))
    throw new RUN_ERR_BAD_SKILL('its front matter is not a mapping')
  requireHead(head)
  const instructions = body.trim()
  if (instructions === '') throw new RUN_ERR_BAD_SKILL('it has no instructions after its front matter')
  return { head, instructions }
}

async function parseYaml(yaml: string): Promise<unknown> {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(yaml, { prettyErrors: true, schema: 'core' })
  const [fault] = document.errors
  if (fault !== undefined) throw new RUN_ERR_BAD_SKILL(`its front matter: ${fault.message.split('\n')[0]}`)
  try {
    // No aliases: a few lines could expand to gigabytes.
    return document.toJS({ maxAliasCount: 0 }) as unknown
  } catch (err) {
    throw new RUN_ERR_BAD_SKILL(`its front matter: ${(err as Error).message}`)
  }
}

const MAX_SKILLS = 200
const MAX_FILES = 200
const MAX_DEPTH = 4

/**
 * Loads the skills of a folder: every subfolder with a `SKILL.md`, ordered by name. Does not follow links.
 * @throws RUN_ERR_BAD_SKILL, naming the skill and the fault
 */
export async function loadSkills(folder: string | URL): Promise<Skill[]> {
  const root = await requireFolder(typeof folder === 'string' ? resolve(folder) : fileURLToPath(folder))
  const entries = await readdir(root, { withFileTypes: true })
  const names = entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => name)
  if (names.length > MAX_SKILLS) throw new RUN_ERR_BAD_SKILL(`${root} has more than ${MAX_SKILLS} folders`)
  const skills: Skill[] = []
  for (const name of names.sort()) {
    const skill = await loadSkill(join(root, name))
    if (skill !== undefined) skills.push(skill)
  }
  return skills
}

async function requireFolder(path: string): Promise<string> {
  try {
    const real = await realpath(path)
    if ((await lstat(real)).isDirectory()) return real
  } catch (err) {
    throw new RUN_ERR_BAD_SKILL(
      `${path} cannot be read: ${(err as NodeJS.ErrnoException).code ?? 'unknown error'}`
    )
  }
  throw new RUN_ERR_BAD_SKILL(`${path} is not a folder`)
}

async function loadSkill(folder: string): Promise<Skill | undefined> {
  const files = await listFiles(folder)
  if (!files.includes('SKILL.md')) return undefined
  try {
    const { head, instructions } = await parseSkill(await readText(folder, 'SKILL.md'))
    const { name, description } = head
    if (name !== basename(folder))
      throw new RUN_ERR_BAD_SKILL(`its name "${name}" differs from that of its folder`)
    const others = files.filter((file) => file !== 'SKILL.md')
    return defineSkill({ name, description, instructions, folder, files: others })
  } catch (err) {
    const fault = (err as Error).message.replace(/^Bad skill: /, '')
    throw new RUN_ERR_BAD_SKILL(`${join(basename(folder), 'SKILL.md')}: ${fault}`)
  }
}

// Regular files only: the target of a link is never listed, and so never read.
async function listFiles(folder: string): Promise<string[]> {
  const files: string[] = []
  const walk = async (at: string, depth: number): Promise<void> => {
    for (const entry of await readdir(at, { withFileTypes: true })) {
      const path = join(at, entry.name)
      if (entry.isFile()) files.push(relative(folder, path).split(sep).join('/'))
      else if (entry.isDirectory() && depth < MAX_DEPTH && !entry.name.startsWith('.'))
        await walk(path, depth + 1)
      if (files.length > MAX_FILES)
        throw new RUN_ERR_BAD_SKILL(`${basename(folder)} has more than ${MAX_FILES} files`)
    }
  }
  await walk(folder, 1)
  return files.sort()
}
