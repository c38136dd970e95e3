import type { LanguageModelV4ToolResultOutput, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import { Type, type TSchema } from '@sinclair/typebox'
import { requireOptions, type RunContext, type RunnableMetadata } from '@svc/contract'
import {
  Agent,
  type AgentOptions,
  type AgentTool,
  type Instructions,
  type PrepareStep,
  type PromptMessage,
  type Schema,
  type Timeouts,
  type Tool
} from '@svc/runtime'
import { AgentOptionsSchema, nameOf, optional, prefixErrors, strict, TimeoutsSchema } from '@svc/runtime/loop'
import {
  BROWSER_OPTIONS,
  BROWSER_TIMES,
  planBrowser,
  type BrowserOptions,
  type BrowserPlan
} from './plan-browser.ts'
import { createBrowserTools } from './browser-tools.ts'
import { RUN_ERR_BAD_BROWSER } from './errors.ts'
import { BOUNDARY_RULE, enclosedIn, Visits, withoutEnclosed } from './visit/visit.ts'

/** The options of a browser agent: those of an agent, and those of browser tools. Times are milliseconds. */
export interface BrowserAgentOptions<Output extends Schema = Schema>
  extends Omit<AgentOptions<Output>, 'timeout'>, Omit<BrowserOptions, 'timeout'> {
  /** Those of the agent, and of what it does to pages. */
  timeout?: Partial<Timeouts> & NonNullable<BrowserOptions['timeout']>
  /** Model calls of one run; default 30. The run then finishes with `max-steps`. */
  maxSteps?: number
}

export const BrowserAgentOptionsSchema = Type.Object(
  {
    ...AgentOptionsSchema.properties,
    ...BROWSER_OPTIONS,
    timeout: optional(Type.Object({ ...TimeoutsSchema.properties, ...BROWSER_TIMES }, strict))
  } satisfies Record<keyof BrowserAgentOptions, TSchema>,
  strict
)

/** Results whose pages stay whole, besides those that later changes refer to. */
const KEPT = 2

/** Shortens the results with earlier states of pages to one line each; undefined if all are short. */
function withoutOldPages(messages: readonly PromptMessage[]): PromptMessage[] | undefined {
  const results = messages.flatMap((message) =>
    message.role === 'tool' ? message.content.filter(hasPage) : []
  )
  const lastWhole = results.findLastIndex((part) => enclosedIn(textOf(part)).includes('whole'))
  const first = Math.min(results.length - KEPT, lastWhole === -1 ? results.length : lastWhole)
  const old = new Set<unknown>(results.slice(0, Math.max(0, first)))
  if (old.size === 0) return undefined
  return messages.map((message) =>
    message.role === 'tool'
      ? {
          ...message,
          content: message.content.map((part) => (old.has(part) && hasPage(part) ? shorten(part) : part))
        }
      : message
  )
}

function hasPage(part: { readonly type: string }): part is LanguageModelV4ToolResultPart {
  return part.type === 'tool-result' && enclosedIn(textOf(part as LanguageModelV4ToolResultPart)).length > 0
}

function textOf({ output }: LanguageModelV4ToolResultPart): string {
  if (output.type === 'text' || output.type === 'error-text') return output.value
  if (output.type !== 'content') return ''
  return output.value.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
}

function shorten(part: LanguageModelV4ToolResultPart): LanguageModelV4ToolResultPart {
  const output: LanguageModelV4ToolResultOutput = { type: 'text', value: withoutEnclosed(textOf(part)) }
  return { ...part, output }
}

const MAX_STEPS = 30

/**
 * An agent that uses websites in a browser of its own. It runs on every surface, and as a member or a step, as any agent does.
 * `Output` is the schema of its answers.
 */
export class BrowserAgent<out Output extends Schema = Schema> extends Agent<Output> {
  readonly #plan: BrowserPlan

  /** @throws RUN_ERR_BAD_BROWSER, and the errors of `Agent` */
  constructor(options: BrowserAgentOptions<Output>) {
    const plan = prefixErrors(nameOf('agent', options), () => {
      requireOptions(BrowserAgentOptionsSchema, options, RUN_ERR_BAD_BROWSER)
      return planBrowser(options)
    })
    super(toAgentOptions(options, plan))
    this.#plan = plan
  }

  protected override details(): Partial<RunnableMetadata> {
    return { ...super.details(), egress: this.#plan.isGuarded ? 'guarded' : 'unguarded' }
  }
}

function toAgentOptions<Output extends Schema>(
  options: BrowserAgentOptions<Output>,
  plan: BrowserPlan
): AgentOptions<Output> {
  const { allow: _a, privateHosts: _p, browser: _b, see: _s, state: _st, secrets: _se, ...more } = options
  const { files: _f, screenshots: _sc, actions: _ac, extract: _e, limits: _l, timeout, ...agent } = more
  const { action: _action, navigation: _navigation, ...times } = timeout ?? {}
  const visits = new Visits(plan)
  const own = createBrowserTools(plan, visits)
  return {
    ...agent,
    maxSteps: agent.maxSteps ?? MAX_STEPS,
    timeout: times,
    tools: withTools(agent.tools, own),
    instructions: withInstructions(agent.instructions, instructionsFor(plan)),
    prepareStep: preparing(agent.name, visits, agent.prepareStep)
  }
}

function withTools(given: AgentOptions['tools'], own: readonly Tool[]): NonNullable<AgentOptions['tools']> {
  if (typeof given !== 'function') return [...(given ?? []), ...own]
  return async (context: RunContext): Promise<AgentTool[]> => [...(await given(context)), ...own]
}

function withInstructions(given: Instructions | undefined, own: string): Instructions {
  if (typeof given !== 'function') return [given, own].filter(Boolean).join('\n\n')
  return async (context) => [await given(context), own].filter(Boolean).join('\n\n')
}

// The app's own function sees the messages as the model would get them, and has the last word.
function preparing(name: string, visits: Visits, given: PrepareStep | undefined): PrepareStep {
  return async (state) => {
    const { context, stepNumber, isReplayed, onEnd } = state
    const visit = visits.of({ context, runnable: { kind: 'agent', name }, onEnd })
    if (!isReplayed) visit.events.step(stepNumber, visit.url)
    const messages = withoutOldPages(state.messages)
    const own = messages === undefined ? undefined : { messages }
    const changes = await given?.({ ...state, ...own })
    return own === undefined ? changes : { ...own, ...changes }
  }
}

const SEES = {
  tree: 'Results show the page as an accessibility tree. Act on elements by their refs, such as e12, from the newest result.',
  both: 'Results show the page as an accessibility tree, and as a screenshot with the refs of its elements. Act by refs, such as e12.',
  pixels: 'Results show a screenshot. Act by its coordinates in pixels, from the upper left corner.'
} as const

// They follow the app's own.
function instructionsFor({ see, secrets }: BrowserPlan): string {
  const typed = secrets.describe()
  return [
    `You use websites with the tools browser_… . ${SEES[see]} Call one tool at a time where a result decides what comes next.`,
    BOUNDARY_RULE,
    ...(typed.length > 0
      ? [`You can type these secrets without seeing them, by their placeholders: ${typed.join('; ')}.`]
      : [])
  ].join('\n')
}
