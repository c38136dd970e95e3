import { Type, type Static } from '@sinclair/typebox'
import { requireOptions } from '@svc/contract'
import { RUN_ERR_BAD_SKILL } from '../errors.ts'

/** Front matter of a `SKILL.md` in the public Agent Skills format; allows other fields. */
export const SkillHeadSchema = Type.Object({
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
export const MAX_SKILL_BYTES = 65_536

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
