import { parseDocument } from 'yaml'
import { RUN_ERR_BAD_SKILL } from '../errors.ts'
import { requireHead, type SkillHead } from './skill.ts'

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/

/**
 * Parses a `SKILL.md`: YAML front matter between two lines of `---`, then the instructions.
 * @throws RUN_ERR_BAD_SKILL
 */
export function parseSkill(text: string): { head: SkillHead; instructions: string } {
  const [, yaml, body = ''] = FRONT_MATTER.exec(text) ?? []
  if (yaml === undefined)
    throw new RUN_ERR_BAD_SKILL('it does not start with front matter between lines of ---')
  const head = parseYaml(yaml)
  if (typeof head !== 'object' || head === null || Array.isArray(head))
    throw new RUN_ERR_BAD_SKILL('its front matter is not a mapping')
  requireHead(head)
  const instructions = body.trim()
  if (instructions === '') throw new RUN_ERR_BAD_SKILL('it has no instructions after its front matter')
  return { head, instructions }
}

function parseYaml(yaml: string): unknown {
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
