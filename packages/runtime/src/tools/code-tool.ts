import { Type } from '@sinclair/typebox'
import { defined, expose, type Awaitable } from '@svc/contract'
import { RUN_ERR_BAD_TOOL } from '../errors.ts'
import { isProgramCode } from '../tool-calls/tool-outcome.ts'
import type { SandboxChoice } from '../sandbox/resolve-sandbox.ts'
import { requireLimits, type HostTool, type SandboxLimits, type SandboxOutcome } from '../sandbox/sandbox.ts'
import { defineTool, type Tool, type ToolContext } from './define-tool.ts'
import { createToolSet } from './tool-set.ts'

/** The options of a code tool. */
export interface CodeToolOptions {
  /** 1–64 letters, digits, `_` and `-`. */
  name: string
  /** Shown to the model, before the rules for programs. */
  description?: string
  /** The tools its programs may call. */
  tools?: readonly Tool[]
  limits?: Partial<SandboxLimits>
  /** Default: the agent's, else the shared QuickJS sandbox. */
  sandbox?: SandboxChoice
  /** Whether a program waits for an approval before it runs; its tool calls wait for their own. */
  approval?: boolean | ((args: { code: string }, context: ToolContext) => Awaitable<boolean>)
  /** Milliseconds until an unanswered approval counts as denied; default: the agent's `approvalTimeout`. */
  approvalTimeout?: number
  /** Milliseconds for a call, including its waits for approvals; default 600,000. */
  timeout?: number
}

const MAX_CODE = 65_536
const MAX_CONSOLE_IN_ERROR = 2_000
const HOW_TO = `Runs a JavaScript program in a sandbox and returns its result. The code is the body of an async function: \
use "return" for the result, which must be JSON. There is no network, file system, timer or module; console output is \
shown to you.`

/**
 * Makes a tool that runs JavaScript programs of the model in a sandbox, which can reach the given tools and nothing else. Their
 * calls are validated, approved and reported like the model's own.
 * @throws RUN_ERR_BAD_TOOL, RUN_ERR_BAD_AGENT, RUN_ERR_BAD_SANDBOX
 */
export function codeTool(options: CodeToolOptions): Tool {
  const { name, description, tools = [], limits, sandbox = 'default', timeout = 600_000 } = options
  const { approval, approvalTimeout } = options
  createToolSet(tools)
  requireLimits(limits)
  for (const tool of tools)
    if (tool.sandbox !== undefined)
      throw new RUN_ERR_BAD_TOOL(`"${tool.name}" has a sandbox of its own; programs cannot call it`)
  return defineTool({
    name,
    description: [description, HOW_TO, ...tools.map(describeTool)].filter(Boolean).join('\n\n'),
    input: Type.Object({ code: Type.String({ maxLength: MAX_CODE }) }, { additionalProperties: false }),
    async execute({ code }, context) {
      const { signal } = context
      const outcome = await context.sandbox!.run({ code, tools: toHostTools(tools, context), limits, signal })
      return toResult(outcome)
    },
    timeout,
    sandbox,
    ...defined({ approval, approvalTimeout }),
    // The sandbox bounds the result.
    maxOutputBytes: 2 ** 31
  })
}

function describeTool({ name, description, inputSchema }: Tool): string {
  return `await tools[${JSON.stringify(name)}](args): ${description} args is ${JSON.stringify(inputSchema)}`
}

function toHostTools(tools: readonly Tool[], context: ToolContext): Record<string, HostTool> {
  return Object.fromEntries(
    tools.map((tool): [string, HostTool] => [
      tool.name,
      (args, signal) => context.callTool(tool, args, signal)
    ])
  )
}

function toResult({ result, error, console: written }: SandboxOutcome): object {
  if (error === undefined) return { result, ...(written !== '' && { console: written }) }
  const end = written === '' ? '' : `\nconsole:\n${written.slice(-MAX_CONSOLE_IN_ERROR)}`
  const message = error.message + end
  throw isProgramCode(error.code) ? expose({ code: error.code, message }) : new Error(message)
}
