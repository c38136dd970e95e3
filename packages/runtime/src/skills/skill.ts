import { Type, type Static } from '@sinclair/typebox'
import { requireOptions } from '@svc/registry'
import { RUN_ERR_BAD_SKILL } from '../errors.ts'

/** Front matter of a `SKILL.md`, as the public Agent Skills format has it; other fields are let through. */
export const SkillHeadSchema = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$' }),
  description: Type.String({ minLength: 1, maxLength: 1024, pattern: '\\S' }),
  license: Type.Optional(Type.String()),
  compatibility: Type.Optional(Type.String({ maxLength: 500 })),
  metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  'allowed-tools': Type.Optional(Type.Unknown())
})
export type SkillHead = Static<typeof SkillHeadSchema>

/** Something an agent knows how to do: its name and description are always told, the rest when the model asks. */
export interface Skill {
  /** 1–64 lower-case letters, digits and single hyphens. */
  readonly name: string
  /** What it does and when it is of use; at most 1,024 characters. */
  readonly description: string
  /** What the model is told when it asks for the skill. */
  readonly instructions: string
  /** Where its files are, if it has any. */
  readonly folder?: string
  /** Paths of its other files, within the folder. */
  readonly files?: readonly string[]
}

/** The bytes that a `SKILL.md`, or another file that a model asks for, may have. */
export const MAX_SKILL_BYTES = 65_536

/** Makes a skill of what is written in code. @throws RUN_ERR_BAD_SKILL */
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
