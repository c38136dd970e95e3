import { Type } from '@sinclair/typebox'
import {
  createContext,
  createEventBus,
  createInProcessStores,
  type ContextOptions,
  type YieldedPart
} from '@svc/registry'
import { Agent, defineTool, type AgentOptions, type Schema } from '@svc/runtime'
import { scriptedModel, type Script, type ScriptedModel } from '@svc/runtime/testing'

/** A tool whose calls need approval. */
export const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: Type.Object({}),
  approval: true,
  execute: () => 'paid'
})

/** An unregistered agent with a scripted model. */
export function makeAgent<Output extends Schema = Schema>(
  script: Script,
  options: Partial<AgentOptions<Output>> = {}
): { agent: Agent<Output>; model: ScriptedModel } {
  const model = scriptedModel(script)
  return { model, agent: new Agent<Output>({ name: 'tester', model, register: false, ...options }) }
}

/** A context with its own stores and bus, and a log of everything. */
export function makeContext(options: ContextOptions = {}) {
  const logged: { level: string; details: Record<string, unknown>; message: string | undefined }[] = []
  const at = (level: string) => (details: object, message?: string) =>
    void logged.push({ level, details: { ...details }, message })
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const context = createContext({
    log,
    stores: createInProcessStores(),
    events: createEventBus(log),
    ...options
  })
  return { context, logged }
}

/** Collects the parts of a stream, and the error that ended it, if any. */
export async function collect(stream: AsyncIterable<YieldedPart>) {
  const parts: YieldedPart[] = []
  let error:
    | (Error & { code?: string; statusCode?: number; retryable?: boolean; retryAfter?: number })
    | undefined
  try {
    for await (const part of stream) parts.push(part)
  } catch (err) {
    error = err as Error
  }
  const types = parts.map((part) => part.type)
  const ofType = <T extends YieldedPart['type']>(type: T) =>
    parts.filter((part): part is Extract<YieldedPart, { type: T }> => part.type === type)
  const text = ofType('text')
    .map((part) => part.text)
    .join('')
  return { parts, types, ofType, text, error }
}
