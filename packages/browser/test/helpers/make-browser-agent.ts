import { createEventBus, createRunEngine, type EventMap, type RunEngine } from '@svc/registry'
import { scriptedModel, type Script, type ScriptedCall } from '@svc/runtime/testing'
import { BrowserAgent, type BrowserAgentOptions } from '@svc/browser'
import type { Schema } from '@svc/runtime'
import { fakeBrowser, type FakePage } from './fake-browser.ts'

/** A turn in which a model acts once. */
export function act(action: string, args: object = {}): { toolCalls: ScriptedCall[] } {
  return { toolCalls: [{ toolName: `browser_${action}`, args }] }
}

/** An unregistered browser agent with a scripted model and pages in memory. */
export function makeBrowserAgent<Output extends Schema = Schema>(
  script: Script,
  pages: Record<string, FakePage>,
  options: Partial<BrowserAgentOptions<Output>> = {}
) {
  const model = scriptedModel(script)
  const browser = fakeBrowser(pages)
  const agent = new BrowserAgent<Output>({
    name: 'browser-tester',
    register: false,
    model,
    allow: ['shop.example', 'other.example'],
    browser,
    ...options
  })
  return { agent, model, browser }
}

const NAMES = ['step', 'action', 'blocked', 'done', 'error'] as const

/** An engine, and all `browser.*` events of its runs. */
export function makeWatchedEngine(t: { teardown(fn: () => unknown): void }): {
  engine: RunEngine
  events: { name: string; payload: EventMap[`browser.${(typeof NAMES)[number]}`] }[]
} {
  const bus = createEventBus()
  const engine = createRunEngine({ events: bus })
  t.teardown(() => engine.close())
  const events: { name: string; payload: EventMap[`browser.${(typeof NAMES)[number]}`] }[] = []
  for (const name of NAMES) bus.on(`browser.${name}`, (payload) => void events.push({ name, payload }))
  return { engine, events }
}

/** The texts of the tool results in a prompt, in order. */
export function resultsIn(prompt: readonly { role: string; content: unknown }[]): string[] {
  return prompt.flatMap(({ role, content }) =>
    role !== 'tool'
      ? []
      : (content as { output: { value: unknown } }[]).map(({ output: { value } }) =>
          typeof value === 'string' ? value : JSON.stringify(value)
        )
  )
}
