import { RUN_ERR_BAD_SANDBOX, RUN_ERR_SANDBOX_MISSING } from '../errors.ts'
import { quickJsSandbox } from './quickjs-sandbox.ts'
import type { Sandbox } from './sandbox.ts'

/** A sandbox; `default`: the shared QuickJS sandbox; `required`: the same, but only if the operating system confines it. */
export type SandboxChoice = Sandbox | 'default' | 'required'

let shared: Sandbox | undefined

/**
 * Resolves the sandbox of a tool: the tool's own, else the agent's, else the shared one, created on first use. Undefined for a
 * tool without the `sandbox` option.
 * @throws RUN_ERR_SANDBOX_MISSING if tool or agent requires a confined sandbox and this one is not
 */
export function resolveSandbox(
  ofTool: SandboxChoice | undefined,
  ofAgent: SandboxChoice | undefined
): Sandbox | undefined {
  if (ofTool === undefined) return undefined
  const sandbox = isSandbox(ofTool) ? ofTool : isSandbox(ofAgent) ? ofAgent : (shared ??= quickJsSandbox())
  const isRequired = ofTool === 'required' || ofAgent === 'required'
  if (isRequired && !sandbox.describe().confined)
    throw new RUN_ERR_SANDBOX_MISSING(
      `"${sandbox.describe().name}" has only ${sandbox.describe().walls.join(', ')}`
    )
  return sandbox
}

/** @throws RUN_ERR_BAD_SANDBOX */
export function requireSandbox(choice: unknown): asserts choice is SandboxChoice | undefined {
  if (choice === undefined || choice === 'default' || choice === 'required' || isSandbox(choice)) return
  throw new RUN_ERR_BAD_SANDBOX("not 'default', 'required' or a sandbox")
}

function isSandbox(choice: unknown): choice is Sandbox {
  const { run, describe, close } = (choice ?? {}) as Record<string, unknown>
  return [run, describe, close].every((method) => typeof method === 'function')
}
