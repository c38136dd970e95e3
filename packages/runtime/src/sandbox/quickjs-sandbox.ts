import { RUN_ERR_SANDBOX_MISSING, RUN_ERR_TOOL_BAD_ARGS, toToolError } from '../errors.ts'
import { messageOf, toToolOutput } from '../json/tool-output.ts'
import { hasBubblewrap } from './bubblewrap.ts'
import { childCommand, HAS_RLIMITS, type ChildCommand } from './child-command.ts'
import { CAN_WATCH } from './memory-watch.ts'
import type { DoneMessage } from './messages.ts'
import { ProcessPool } from './process-pool.ts'
import { ProgramRun } from './program-run.ts'
import type { Sandbox, SandboxDescription, SandboxLimits, SandboxOutcome, SandboxRun } from './sandbox.ts'
import { capLimits, readOptions, type QuickJsSandboxOptions } from './sandbox-options.ts'
import { SandboxProcess } from './sandbox-process.ts'

// Replaces a child that has used this much; if it lies about it, the kernel kills it a little later.
const CPU_MS = 20_000
const RSS = 201_326_592
const MAX_INPUT_BYTES = 16_777_216

/**
 * Creates a sandbox: QuickJS in WebAssembly, inside pooled Node processes without permissions or environment, inside
 * bubblewrap where available. Children start with the first program.
 * @throws RUN_ERR_BAD_SANDBOX, or RUN_ERR_SANDBOX_MISSING if bubblewrap is required and does not work
 */
export function quickJsSandbox(options: QuickJsSandboxOptions = {}): Sandbox {
  const { bubblewrap: mode, limits, runsPerProcess, ...bounds } = readOptions(options)
  const bubblewrap = mode !== 'off' && hasBubblewrap()
  if (mode === 'required' && !bubblewrap)
    throw new RUN_ERR_SANDBOX_MISSING('bubblewrap is not installed, or does not work here')
  const cpuSeconds = Math.ceil((CPU_MS + limits.timeout) / 1000) + 5
  const command = childCommand({ maxMemory: limits.memory, cpuSeconds, bubblewrap })
  return new QuickJsSandbox(command, bubblewrap, limits, runsPerProcess, bounds)
}

class QuickJsSandbox implements Sandbox {
  readonly #pool: ProcessPool
  readonly #limits: SandboxLimits
  readonly #runsPerProcess: number
  readonly #bubblewrap: boolean

  constructor(
    command: ChildCommand,
    bubblewrap: boolean,
    limits: SandboxLimits,
    runsPerProcess: number,
    bounds: { processes: number; maxQueue: number }
  ) {
    this.#pool = new ProcessPool(() => new SandboxProcess(command, bubblewrap), bounds)
    this.#limits = limits
    this.#runsPerProcess = runsPerProcess
    this.#bubblewrap = bubblewrap
  }

  async run(program: SandboxRun): Promise<SandboxOutcome> {
    const { signal, input } = program
    signal?.throwIfAborted()
    try {
      return await this.#run(program, toJson(input))
    } catch (err) {
      signal?.throwIfAborted()
      return { error: toToolError(err), console: '' }
    }
  }

  describe(): SandboxDescription {
    const walls = ['quickjs in webassembly', 'node --permission']
    if (HAS_RLIMITS) walls.push('rlimits')
    if (CAN_WATCH) walls.push('memory watch')
    if (this.#bubblewrap) walls.push('bubblewrap')
    return { name: 'quickjs', confined: this.#bubblewrap, walls }
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  async #run(program: SandboxRun, input: string): Promise<SandboxOutcome> {
    const { signal } = program
    const limits = capLimits(program.limits, this.#limits)
    const process = await this.#pool.take(signal)
    const onAbort = () => process.kill('closed')
    signal?.addEventListener('abort', onAbort, { once: true })
    if (signal?.aborted) onAbort()
    let isClean = false
    try {
      const { outcome, done } = await new ProgramRun(process, program, input, limits).ended
      isClean = done !== undefined && this.#isClean(process, done)
      signal?.throwIfAborted()
      return outcome
    } finally {
      signal?.removeEventListener('abort', onAbort)
      this.#pool.give(process, isClean)
    }
  }

  #isClean(process: SandboxProcess, { clean, cpu, rss }: DoneMessage): boolean {
    return clean && ++process.runs < this.#runsPerProcess && cpu < CPU_MS && rss < RSS
  }
}

function toJson(input: unknown): string {
  try {
    return JSON.stringify(toToolOutput(input, MAX_INPUT_BYTES))
  } catch (err) {
    throw new RUN_ERR_TOOL_BAD_ARGS(`input: ${messageOf(err, 'not JSON')}`)
  }
}
