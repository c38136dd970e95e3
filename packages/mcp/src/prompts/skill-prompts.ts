import { defined, type Principal, type Runnable } from '@svc/contract'
import { MCP_ERR_UNKNOWN_PROMPT } from '../errors.ts'
import { toClientName, type Prompt, type PromptMessages } from '../protocol/message.ts'
import type { Surface } from '../surface.ts'
import { toDottedName, toToolName } from '../tools/list-tools.ts'

interface SkillPrompt {
  readonly prompt: Prompt
  /** The name that it had in earlier versions. */
  readonly dottedName: string
  readonly tool: string
  readonly skill: string
}

const ARGUMENTS = [{ name: 'message', description: 'What is to be done with the skill', required: false }]

/** The prompts that a caller may see: one for each skill of each exposed runnable, such as `writer_summary`. */
export async function listPrompts(surface: Surface, principal: Principal): Promise<Prompt[]> {
  const found = await findPrompts(surface, principal)
  return found.map(({ prompt }) => prompt)
}

/** The message that has a client use a skill of a tool. @throws MCP_ERR_UNKNOWN_PROMPT */
export async function getPrompt(
  surface: Surface,
  principal: Principal,
  name: string,
  { message }: Readonly<Record<string, string>> = {}
): Promise<PromptMessages> {
  const prompts = await findPrompts(surface, principal)
  const found =
    prompts.find(({ prompt }) => prompt.name === name) ??
    prompts.find(({ dottedName }) => dottedName === name)
  if (found === undefined) throw new MCP_ERR_UNKNOWN_PROMPT(name)
  const { prompt, tool, skill } = found
  const text = `Call the tool "${tool}" and have it use its skill "${skill}"${message === undefined ? '.' : `: ${message}`}`
  return {
    ...defined({ description: prompt.description }),
    messages: [{ role: 'user', content: { type: 'text', text } }]
  }
}

async function findPrompts(surface: Surface, principal: Principal): Promise<SkillPrompt[]> {
  const prompts: SkillPrompt[] = []
  for (const runnable of surface.exposed.list()) {
    const { kind, name } = runnable
    const ofRunnable = promptsOf(runnable)
    if (ofRunnable.length === 0) continue
    const { allowed } = await surface.policy.authorize(principal, 'read', { kind, name })
    if (allowed) prompts.push(...ofRunnable)
  }
  return prompts
}

function promptsOf(runnable: Runnable): SkillPrompt[] {
  const { kind, name } = runnable
  const tool = toToolName(runnable)
  return (runnable.describe().skills ?? []).map(({ name: skill, description }) => ({
    prompt: {
      // With one underscore more, it would not be clear where the name of the skill begins.
      name: toClientName(`${tool}_${skill}`, !skill.includes('_'), [kind, name, skill]),
      ...(description !== undefined && { description }),
      arguments: ARGUMENTS
    },
    dottedName: `${toDottedName(runnable)}.${skill}`,
    tool,
    skill
  }))
}
