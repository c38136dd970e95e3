import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { Type } from '@sinclair/typebox'
import type { NumberedPart, PartOf, SessionMessage, Stores } from '@svc/contract'
import {
  createInProcessStores,
  createRunEngine,
  type RunEngine,
  type RunEngineOptions,
  type RunInput,
  type Runnable,
  type RunResult,
  type StartOptions
} from '@svc/registry'
import { Agent, defineTool, type AgentOptions, type AgentTool } from '@svc/runtime'
import {
  prefixCacheModel,
  type OverflowProvider,
  type PrefixCacheAnswer,
  type PrefixCacheModel
} from '@svc/testing'
import type { Test } from 'tap'

/** Tokens. */
const WINDOW = 32_000
const isSummary = ({ prompt }: LanguageModelV4CallOptions) =>
  prompt[0]?.role === 'system' && prompt[0].content.startsWith('You keep the summary')
export const jsonOf = (prompt: LanguageModelV4Prompt): string => JSON.stringify(prompt)
export const factsIn = (text: string): string[] => [...new Set(text.match(/FACT-\d+/g))].toSorted()

interface ListenerOptions {
  window?: number
  provider?: OverflowProvider
  summarise?: (prompt: LanguageModelV4Prompt) => PrefixCacheAnswer
}

/** A model, and what it was asked. */
interface Listener {
  readonly model: PrefixCacheModel
  readonly prompts: LanguageModelV4Prompt[]
  /** The prompts of summaries. */
  readonly summaries: LanguageModelV4Prompt[]
}

/** A model that calls `look` as often as a question says, and whose summaries have the facts that they are made of. */
export function listener({
  window = WINDOW,
  provider = 'anthropic',
  summarise = (prompt) => ({ text: `Known: ${factsIn(jsonOf(prompt)).join(' ')}` })
}: ListenerOptions = {}): Listener {
  const prompts: LanguageModelV4Prompt[] = []
  const summaries: LanguageModelV4Prompt[] = []
  const model = prefixCacheModel({
    window,
    provider,
    answer(options) {
      const { prompt } = options
      if (isSummary(options)) {
        summaries.push(prompt)
        return summarise(prompt)
      }
      prompts.push(prompt)
      const asked = prompt.findLast(({ role }) => role === 'user')!
      const calls = Number(/CALLS-(\d+)/.exec(jsonOf([asked]))?.[1] ?? 0)
      const looked = Math.max(0, ...[...jsonOf(prompt).matchAll(/LOOK-(\d+)/g)].map(([, at]) => Number(at)))
      return looked < calls
        ? { toolCalls: [{ toolName: 'look', args: { at: looked + 1 } }] }
        : { text: 'Noted.' }
    }
  })
  return { model, prompts, summaries }
}

/** Calls whose results are missing, results whose calls are, and messages out of order. */
export function faultsIn(prompt: LanguageModelV4Prompt): string[] {
  const faults: string[] = []
  let open = new Set<string>()
  for (const [at, { role, content }] of prompt.entries()) {
    if (role === prompt[at - 1]?.role) faults.push(`two messages of ${role} at ${at}`)
    if (role === 'tool')
      for (const part of content)
        if (part.type !== 'tool-result' || !open.delete(part.toolCallId))
          faults.push(`a result without a call at ${at}`)
    if (role === 'tool') continue
    if (open.size > 0) faults.push(`a call without a result before ${at}`)
    open = new Set(
      role === 'assistant'
        ? content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
        : []
    )
  }
  return faults
}

/** A tool whose results have a fact. */
export const look = (bytes: number): AgentTool =>
  defineTool({
    name: 'look',
    description: 'Looks something up',
    input: Type.Object({ at: Type.Integer() }),
    idempotent: true,
    execute: ({ at }) => `LOOK-${at} FACT-${1_000 + at} ${'words '.repeat(bytes / 6)}`
  })

export function engineFor(
  t: Test,
  stores: Stores = createInProcessStores(),
  options: Partial<RunEngineOptions> = {}
): RunEngine {
  const engine = createRunEngine({ stores, ...options })
  t.teardown(() => engine.close())
  return engine
}

/** A run that has ended. */
interface Asked {
  readonly result: RunResult
  readonly parts: NumberedPart[]
  readonly compactions: (NumberedPart & PartOf<'compaction'>)[]
  readonly runId: string
}

export async function ask(
  engine: RunEngine,
  agent: Runnable,
  input: RunInput,
  options: StartOptions = {}
): Promise<Asked> {
  const run = await engine.start(
    agent,
    input,
    options.messages === undefined ? { sessionId: 's', ...options } : options
  )
  const result = await run.result()
  const parts: NumberedPart[] = []
  for await (const part of engine.parts(run.runId)) parts.push(part)
  const compactions = parts.filter((part) => part.type === 'compaction')
  return { result, parts, compactions, runId: run.runId }
}

export const make = (model: AgentOptions['model'], options: Partial<AgentOptions> = {}): Agent =>
  new Agent({ name: 'a', register: false, model, history: { window: WINDOW }, maxSteps: 500, ...options })

/** Of the session. */
export const key = {
  registry: 'global',
  owner: 'anonymous',
  kind: 'agent',
  name: 'a',
  sessionId: 's'
} as const

export const messagesOf = (stores: Stores): SessionMessage[] =>
  stores.sessions.load(key, 100_000) as SessionMessage[]
