import { readFileSync } from 'node:fs'
import * as client from '@ag-ui/client'
import type { AgentSubscriber, BaseEvent, HttpAgent, Message, RunAgentParameters } from '@ag-ui/client'

// What a client strips from an event, or cannot apply, it only warns of.
const warn = console.warn.bind(console)
console.warn = (...args: unknown[]) => {
  const text = String(args[0])
  if (!text.startsWith('[ag-ui]') && !/^[A-Z_]+:/.test(text)) return warn(...args)
  throw new Error(`the client has warned: ${text}`)
}
// And of a run that fails, it prints the error that it throws.
const error = console.error.bind(console)
console.error = (...args: unknown[]) => {
  if (args[0] !== 'Agent execution failed:') error(...args)
}

type Config = ConstructorParameters<typeof HttpAgent>[0]

/** The agent of the README, which can connect. */
const ThreadAgent = readmeAgent()

function readmeAgent(): typeof HttpAgent {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const blocks = Array.from(readme.matchAll(/^```js\n([^]*?)^```/gm), ([, code = '']) => code)
  const code = blocks.find((block) => block.includes('export class ThreadAgent'))!
  const body = code.replace(/^import .*\n/gm, '').replace('export class', 'return class')
  // oxlint-disable-next-line no-implied-eval, typescript/no-implied-eval -- the code is the README's
  const create = new Function(
    'client',
    `const { HttpAgent, runHttpRequest, transformHttpEventStream } = client\n${body}`
  )
  return create(client) as typeof HttpAgent
}

/** A recorded event, with the fields of its type. */
export type TestEvent = BaseEvent & { readonly [field: string]: unknown }

/** The client of AG-UI, with the events that it applied. */
export class TestAgent extends ThreadAgent {
  readonly events: TestEvent[] = []
  readonly #waiting = new Set<() => void>()

  constructor(config: Config) {
    super(config)
    this.subscribe({
      onEvent: ({ event }) => void this.events.push(event as TestEvent),
      onMessagesChanged: () => this.#changed(),
      onRunFinalized: () => this.#changed()
    })
  }

  /** Adds a message of the user, and runs the agent. */
  async say(content: string, parameters?: RunAgentParameters, subscriber?: AgentSubscriber) {
    this.addMessage({ id: crypto.randomUUID(), role: 'user', content })
    return this.runAgent(parameters, subscriber)
  }

  /** Resolves once a condition holds, which is tested when messages change. */
  async until(holds: (agent: TestAgent) => boolean): Promise<void> {
    while (!holds(this)) await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }

  /** The text of the last message of the agent itself. */
  get text(): string {
    const last = this.messages.findLast(({ role, subagentRunId }) => role === 'assistant' && !subagentRunId)
    return typeof last?.content === 'string' ? last.content : ''
  }

  /** The role and text of each message. */
  get said(): [Message['role'], unknown][] {
    return this.messages.map(({ role, content }) => [role, content])
  }

  /** The events of a type. */
  of(type: string): TestEvent[] {
    return this.events.filter((event) => (event.type as string) === type)
  }

  /** The id of the last run. */
  get runId(): string {
    return this.of('RUN_STARTED').at(-1)!['runId'] as string
  }

  #changed(): void {
    setImmediate(() => {
      for (const resolve of this.#waiting) resolve()
      this.#waiting.clear()
    })
  }
}
