import { constants, open, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { Type, type Static } from '@sinclair/typebox'
import { requireOptions } from '@svc/contract'
import { RUN_ERR_BAD_AGENT, RUN_ERR_BAD_SKILL } from '../errors.ts'
import { RunEvents } from '../events/events.ts'
import { defineTool, type Tool } from '../tools/define-tool.ts'

/** Front matter of a `SKILL.md` in the public Agent Skills format; allows other fields. */
const SkillHeadSchema = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$' }),
  description: Type.String({ minLength: 1, maxLength: 1024, pattern: '\\S' }),
  license: Type.Optional(Type.String()),
  compatibility: Type.Optional(Type.String({ maxLength: 500 })),
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  'allowed-tools': Type.Optional(Type.Unknown())
})
export type SkillHead = Static<typeof SkillHeadSchema>

/** Knowledge for a kind of task: the prompt lists its name and description, and the model loads the rest on demand. */
export interface Skill {
  /** 1–64 lower-case letters, digits and single hyphens. */
  readonly name: string
  /** What it does and when to use it; at most 1,024 characters. */
  readonly description: string
  /** The text that the model receives when it loads the skill. */
  readonly instructions: string
  /** Folder of its files, if any. */
  readonly folder?: string
  /** Paths of its other files, relative to the folder. */
  readonly files?: readonly string[]
}

/** Maximum size of a `SKILL.md`, and of any other file that a model loads. */
const MAX_SKILL_BYTES = 65_536

/** Defines a skill in code. @throws RUN_ERR_BAD_SKILL */
export function defineSkill({ name, description, instructions, folder, files }: Skill): Skill {
  requireHead({ name, description })
  if (typeof instructions !== 'string' || instructions.trim() === '')
    throw new RUN_ERR_BAD_SKILL(`"${name}" has no instructions`)
  if (Buffer.byteLength(instructions) > MAX_SKILL_BYTES)
    throw new RUN_ERR_BAD_SKILL(`"${name}" has more than ${MAX_SKILL_BYTES} bytes of instructions`)
  return Object.freeze({
    name,
    description,
    instructions,
    ...(folder !== undefined && { folder }),
    ...(files !== undefined && { files: Object.freeze([...files]) })
  })
}

/** @throws RUN_ERR_BAD_SKILL */
export function requireHead(head: object): asserts head is SkillHead {
  requireOptions(SkillHeadSchema, head, RUN_ERR_BAD_SKILL)
}

/** Reads a text file that was listed when the skill was loaded. @throws RUN_ERR_BAD_SKILL, or an error for an unknown file */
function readSkillFile({ name, folder, files = [] }: Skill, path: string): Promise<string> {
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

/** The skills of an agent; an added skill is available from the next run on. */
export interface SkillSet {
  /** Adds a skill, or replaces the one with the same name. @throws RUN_ERR_BAD_SKILL */
  add(skill: Skill): void
  list(): Skill[]
  /** Names and descriptions for the prompt; undefined without skills. */
  prompt(): string | undefined
  /** The tool with which the model loads a skill. */
  readonly tool: Tool
}

const LOAD_SKILL = 'load_skill'

/** @throws RUN_ERR_BAD_AGENT for a duplicate name, RUN_ERR_BAD_SKILL for an invalid skill */
export function createSkillSet(skills: readonly Skill[], agentName: string): SkillSet {
  const byName = new Map<string, Skill>()
  const add = (skill: Skill) => void byName.set(skill.name, defineSkill(skill))
  for (const skill of skills) {
    if (byName.has(skill.name)) throw new RUN_ERR_BAD_AGENT(`skills: duplicate skill "${skill.name}"`)
    add(skill)
  }
  const requireSkill = (name: string) => {
    const skill = byName.get(name)
    if (skill !== undefined) return skill
    const known = byName.size === 0 ? 'there are no skills' : `known skills: ${[...byName.keys()].join(', ')}`
    throw new Error(`unknown skill "${name.slice(0, 64)}"; ${known}`)
  }

  const tool = defineTool({
    name: LOAD_SKILL,
    description: 'Loads the instructions of a skill, or one of its files. Call it before using the skill.',
    // It only reads.
    idempotent: true,
    input: Type.Object(
      {
        name: Type.String({ description: 'Name of the skill' }),
        file: Type.Optional(Type.String({ description: 'A file that the skill lists' }))
      },
      { additionalProperties: false }
    ),
    approval: false,
    async execute({ name, file }, { context }) {
      const skill = requireSkill(name)
      if (file !== undefined) return { name, file, content: await readSkillFile(skill, file) }
      new RunEvents(context, agentName, 'agent').emit('skill.loaded', () => ({ skill: name }))
      const { instructions, files = [] } = skill
      return { name, instructions, ...(files.length > 0 && { files }) }
    }
  })
  return { add, list: () => [...byName.values()], prompt: () => toPrompt(byName.values()), tool }
}

function toPrompt(skills: Iterable<Skill>): string | undefined {
  const lines = [...skills].map(
    ({ name, description }) => `- ${name}: ${description.replace(/\s+/g, ' ').trim()}`
  )
  if (lines.length === 0) return undefined
  return `Skills. If a task matches one of these, first call ${LOAD_SKILL} with its name and follow its instructions:\n${lines.join('\n')}`
}
