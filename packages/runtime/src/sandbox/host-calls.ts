import { RUN_ERR_TOOL_BAD_ARGS, RUN_ERR_TOOL_FAILED, RUN_ERR_TOOL_UNKNOWN, toToolError } from '../errors.ts'
import { messageOf, toToolOutput } from '../json/tool-output.ts'
import type { ToChild } from './messages.ts'
import { jsonFaultOf } from '../json/json-faults.ts'
import type { HostTool, SandboxLimits } from './sandbox.ts'

type Answer = Extract<ToChild, { type: 'answer' }>
interface Call {
  readonly id: number
  readonly name: string
  readonly args: unknown
}

/** The host tool calls of one program. None starts, and none is answered, after the program has ended. */
export class HostCalls {
  readonly #tools: Readonly<Record<string, HostTool>>
  readonly #limits: SandboxLimits
  readonly #answer: (answer: Answer) => void
  readonly #controller = new AbortController()
  readonly #ids = new Set<number>()

  constructor(
    tools: Readonly<Record<string, HostTool>>,
    limits: SandboxLimits,
    answer: (answer: Answer) => void
  ) {
    this.#tools = tools
    this.#limits = limits
    this.#answer = answer
  }

  /** @throws a TypeError for requests that an uncompromised child never sends */
  serve(calls: readonly Call[]): void {
    for (const call of calls) {
      if (this.#ids.has(call.id) || this.#ids.size >= this.#limits.maxToolCalls)
        throw new TypeError('too many calls, or a repeated id')
      this.#ids.add(call.id)
    }
    for (const call of calls) void this.#serve(call)
  }

  /** Aborts pending calls once the program has ended. */
  close(): void {
    this.#controller.abort(new RUN_ERR_TOOL_FAILED('The program that made the call has ended'))
  }

  async #serve({ id, name, args }: Call): Promise<void> {
    const { signal } = this.#controller
    let ok = true
    let json: string
    try {
      const output = await this.#tool(name, args)(args, signal)
      json = JSON.stringify(toToolOutput(output, this.#limits.maxOutputBytes))
    } catch (err) {
      ok = false
      json = JSON.stringify(toToolError(err, new RUN_ERR_TOOL_FAILED(messageOf(err, 'The tool failed'))))
    }
    if (!signal.aborted) this.#answer({ type: 'answer', id, ok, json })
  }

  #tool(name: string, args: unknown): HostTool {
    if (!Object.hasOwn(this.#tools, name)) throw new RUN_ERR_TOOL_UNKNOWN(`"${name.slice(0, 64)}"`)
    const fault = jsonFaultOf(args)
    if (fault !== undefined) throw new RUN_ERR_TOOL_BAD_ARGS(fault)
    return this.#tools[name]!
  }
}
