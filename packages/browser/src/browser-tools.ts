import { requireOptions } from '@svc/contract'
import { defineTool, type Tool } from '@svc/runtime'
import { compileSchema, createTool, schemaError, type CompiledSchema } from '@svc/runtime/loop'
import {
  ELEMENT_ACTIONS,
  FILE_ACTIONS,
  PAGE_ACTIONS,
  READING_ACTIONS,
  type Action,
  type Args
} from './actions.ts'
import {
  BrowserOptionsSchema,
  planBrowser,
  type ActionName,
  type BrowserOptions,
  type BrowserPlan,
  type See
} from './plan-browser.ts'
import { RUN_ERR_BAD_BROWSER } from './errors.ts'
import { serveAction } from './visit/serve-action.ts'
import { Visits } from './visit/visit.ts'

/** What is behind a browser tool. */
export interface BrowserTool {
  /** Undefined for `extract`, which does nothing to a page. */
  readonly action: Action | undefined
  readonly visits: Visits
}

const marked = new WeakMap<Tool, BrowserTool>()

/** Marks a tool as one of a browser. */
function markBrowserTool(tool: Tool, of: BrowserTool): Tool {
  marked.set(tool, of)
  return tool
}

/** What is behind a tool, if it is one of a browser. */
export function browserToolOf(tool: Tool): BrowserTool | undefined {
  return marked.get(tool)
}

// Every action but `extract`, whose schema is the app's.
const ACTIONS: readonly Action[] = [...PAGE_ACTIONS, ...ELEMENT_ACTIONS, ...READING_ACTIONS, ...FILE_ACTIONS]

/**
 * The tools of a browser for an agent of your own; a `BrowserAgent` has them already. Each run gets a desk of its own, which is closed
 * when the run ends.
 * @throws RUN_ERR_BAD_BROWSER, RUN_ERR_BAD_TOOL
 */
export function browserTools(options: BrowserOptions): Tool[] {
  requireOptions(BrowserOptionsSchema, options, RUN_ERR_BAD_BROWSER)
  const plan = planBrowser(options)
  return createBrowserTools(plan, new Visits(plan))
}

/** The tools of a plan. */
export function createBrowserTools(plan: BrowserPlan, visits: Visits): Tool[] {
  const tools = ACTIONS.filter(({ name }) => plan.actions.has(name)).map((action) =>
    toTool(action, plan, visits)
  )
  if (!plan.actions.has('extract')) return tools
  return [...tools, markBrowserTool(extractTool(plan), { action: undefined, visits })]
}

// Milliseconds for the look after an action, and for earlier calls of the same step.
const MARGIN = 60_000

function toTool(action: Action, plan: BrowserPlan, visits: Visits): Tool {
  const { name, description, input, isReadOnly = false } = action
  const { action: ofAction, navigation } = plan.desk.timeout
  const tool = createTool(
    {
      name: toolNameOf(name),
      description,
      input: input(plan.see),
      idempotent: isReadOnly,
      timeout: Math.min(2_147_483_647, navigation + 2 * ofAction + MARGIN),
      maxOutputBytes: 4_194_304,
      execute: (args, call) => serveAction(action, args as Args, visits.of(call), call)
    },
    () => compileInput(action, plan.see)
  )
  return markBrowserTool(tool, { action, visits })
}

const compiled = new Map<string, CompiledSchema>()

// All agents have the same actions, and to compile their schemas costs as much as to open a page.
function compileInput({ name, input }: Action, see: See): CompiledSchema {
  const key = `${name} ${see}`
  let schema = compiled.get(key)
  if (schema === undefined) {
    schema = compileSchema(input(see), 'the arguments', schemaError('input', toolNameOf(name)))
    compiled.set(key, schema)
  }
  return { ...schema, plain: structuredClone(schema.plain) }
}

function extractTool({ extract, secrets }: BrowserPlan): Tool {
  return defineTool({
    name: toolNameOf('extract'),
    description:
      'Hands over data that you found, exactly as pages have it. Call it once for each page or record.',
    input: extract!,
    idempotent: true,
    execute(value, { emit }) {
      // What a schema made of it may be more than JSON.
      const plain: unknown = secrets.hide(JSON.parse(JSON.stringify(value ?? null)))
      emit({ type: 'data', name: 'extract', value: plain })
      return 'Taken.'
    }
  })
}

function toolNameOf(name: ActionName): string {
  return `browser_${name}`
}
