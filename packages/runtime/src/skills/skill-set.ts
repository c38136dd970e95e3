import { Type } from '@sinclair/typebox'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { RunEvents } from '../events/run-events.ts'
import { defineTool, type Tool } from '../tools/define-tool.ts'
import { readSkillFile } from './read-skill-file.ts'
import { defineSkill, type Skill } from './skill.ts'

/** The skills of an agent; one that is added later is there from the next run on. */
export interface SkillSet {
  /** Adds a skill, or replaces its namesake. @throws RUN_ERR_BAD_SKILL */
  add(skill: Skill): void
  list(): Skill[]
  /** Names and descriptions, for the prompt; undefined when there are no skills. */
  prompt(): string | undefined
  /** Loads a skill when the model asks for it. */
  readonly tool: Tool
}

// The name of the built-in tool that loads skills.
const LOAD_SKILL = 'load_skill'

/** @throws RUN_ERR_BAD_AGENT when two have the same name, RUN_ERR_BAD_SKILL when one cannot be a skill */
export function createSkillSet(skills: readonly Skill[], agentName: string): SkillSet {
  const byName = new Map<string, Skill>()
  const add = (skill: Skill) => void byName.set(skill.name, defineSkill(skill))
  for (const skill of skills) {
    if (byName.has(skill.name)) throw new RUN_ERR_BAD_AGENT(`skills: there are two skills "${skill.name}"`)
    add(skill)
  }
  const requireSkill = (name: string) => {
    const skill = byName.get(name)
    if (skill !== undefined) return skill
    const known = byName.size === 0 ? 'there are none' : `there are ${[...byName.keys()].join(', ')}`
    throw new Error(`there is no skill "${name.slice(0, 64)}"; ${known}`)
  }

  const tool = defineTool({
    name: LOAD_SKILL,
    description: 'Loads the instructions of a skill, or one of its files, before the skill is used',
    input: Type.Object(
      {
        name: Type.String({ description: 'Name of the skill' }),
        file: Type.Optional(Type.String({ description: 'One of the files that the skill lists' }))
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
  return `Skills. When a task fits one of these, call ${LOAD_SKILL} with its name first and do as it says:\n${lines.join('\n')}`
}
