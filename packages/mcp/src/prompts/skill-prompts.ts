import type { Principal, Runnable } from '@svc/registry'
import { MCP_ERR_UNKNOWN_PROMPT } from '../errors.ts'
import type { Prompt, PromptMessages } from '../protocol/results.ts'
import type { Surface } from '../surface.ts'
import { toToolName } from '../tools/tool-name.ts'

interface SkillPrompt {
  readonly prompt: Prompt
  readonly tool: string
  readonly skill: string
}

const ARGUMENTS = [{ name: 'message', description: 'What is to be done with the skill', required: false }]

/** The prompts that a caller may see: one for each skill of each exposed runnable, such as `writer.summary`. */
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
  const found = (await findPrompts(surface, principal)).find(({ prompt }) => prompt.name === name)
  if (found === undefined) throw new MCP_ERR_UNKNOWN_PROMPT(name)
  const { prompt, tool, skill } = found
  const text = `Call the tool "${tool}" and have it use its skill "${skill}"${message === undefined ? '.' : `: ${message}`}`
  return {
    ...(prompt.description !== undefined && { description: prompt.description }),
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
  const tool = toToolName(runnable)
  if (tool === undefined) return []
  return (runnable.describe().skills ?? []).map(({ name: skill, description }) => ({
    prompt: {
      name: `${tool}.${skill}`,
      ...(description !== undefined && { description }),
      arguments: ARGUMENTS
    },
    tool,
    skill
  }))
}
