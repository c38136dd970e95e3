import { Type } from '@sinclair/typebox'
import type { Registry } from '@svc/registry'
import { Agent, defineTool, type AgentOptions } from '@svc/runtime'
import { scriptedModel, type Script } from '@svc/runtime/testing'
import { send } from '@tools/wires/agents'

/** A tool of an agent. */
const weather = defineTool({
  name: 'weather',
  description: 'The weather',
  input: Type.Object({ city: Type.String() }),
  execute: ({ city }) => ({ city, sky: 'clear' })
})

/** A tool that asks the user. */
const ask = defineTool({
  name: 'ask',
  description: 'Asks the user',
  input: Type.Object({ what: Type.String() }),
  async execute({ what }, context) {
    const schema = Type.String({ minLength: 1 })
    const { action, content } = await context.ask({ message: `Which ${what}?`, schema })
    return action === 'accept' ? `chose ${String(content)}` : 'no choice'
  }
})

/** The definition of a tool that a client serves. */
export const locate = {
  type: 'function',
  name: 'locate',
  description: 'Where the user is',
  parameters: { type: 'object', properties: { exact: { type: 'boolean' } } },
  strict: false
} as const

/** An agent `support` on a scripted model, and the model. */
export function supportAgent(script: Script, options: Partial<AgentOptions> = {}) {
  const model = scriptedModel(script)
  const add = (registry: Registry) =>
    new Agent({ name: 'support', model, registry, tools: [weather, send, ask], ...options })
  return { model, add }
}

/** The texts of a prompt, one for each message. */
export function promptOf({ prompt }: { prompt: readonly { content: unknown }[] }): string[] {
  return prompt.map(({ content }) =>
    typeof content === 'string'
      ? content
      : (content as { text?: string }[]).map(({ text = '' }) => text).join('')
  )
}
