import { requireOptions, type RunContext, type RunnableMetadata } from '@svc/contract'
import {
  Agent,
  type AgentOptions,
  type AgentTool,
  type Instructions,
  type PrepareStep,
  type Schema,
  type Tool
} from '@svc/runtime'
import { nameOf, prefixErrors } from '@svc/runtime/loop'
import { RUN_ERR_BAD_BROWSER } from './errors.ts'
import { BrowserAgentOptionsSchema, type BrowserAgentOptions } from './browser-agent-options.ts'
import { createBrowserTools } from './browser-tools.ts'
import { planBrowser, type BrowserPlan } from './plan-browser.ts'
import { BOUNDARY_RULE } from './visit/boundary.ts'
import { withoutOldPages } from './visit/old-pages.ts'
import { Visits } from './visit/visit.ts'

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
