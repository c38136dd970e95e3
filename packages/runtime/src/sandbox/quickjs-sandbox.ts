import type { ToolError } from '@svc/contract'
import {
  RUN_ERR_PROGRAM_FAILED,
  RUN_ERR_PROGRAM_MEMORY,
  RUN_ERR_PROGRAM_TIMEOUT,
  RUN_ERR_SANDBOX_BUSY,
  RUN_ERR_SANDBOX_CLOSED,
  RUN_ERR_SANDBOX_FAILED,
  RUN_ERR_SANDBOX_MISSING,
  RUN_ERR_TOOL_BAD_ARGS,
  RUN_ERR_TOOL_BAD_OUTPUT,
  RUN_ERR_TOOL_FAILED,
  RUN_ERR_TOOL_OUTPUT_TOO_LARGE,
  RUN_ERR_TOOL_UNKNOWN
} from '../errors.ts'
import { toToolError } from '../tool-calls/tool-outcome.ts'
import { jsonFaultOf, messageOf, toToolOutput } from '../json/json.ts'
import { childCommand, HAS_RLIMITS, hasBubblewrap, type ChildCommand } from './child-command.ts'
import {
  CAN_WATCH,
  maxFrameBytes,
  SandboxProcess,
  type DoneMessage,
  type FromChild,
  type KillReason,
  type ProcessListener,
  type ToChild
} from './sandbox-process.ts'
import {
  capLimits,
  readOptions,
  type HostTool,
  type QuickJsSandboxOptions,
  type Sandbox,
  type SandboxDescription,
  type SandboxLimits,
  type SandboxOutcome,
  type SandboxRun
} from './sandbox.ts'

const START_MS = 15_000

/** Limits of the number of processes and of the queue. */
export interface PoolBounds {
  readonly processes: number
  readonly maxQueue: number
}

type Waiter = PromiseWithResolvers<SandboxProcess>

/** Starts children on demand, and keeps them for the next program. */
class ProcessPool {
  readonly #start: () => SandboxProcess
  readonly #bounds: PoolBounds
  readonly #all = new Set<SandboxProcess>()
  readonly #idle: SandboxProcess[] = []
  readonly #waiters: Waiter[] = []
  #starting = 0
  #closed = false

  constructor(start: () => SandboxProcess, bounds: PoolBounds) {
    this.#start = start
    this.#bounds = bounds
  }

  /**
   * Takes a child for exclusive use, until `give`.
   * @throws RUN_ERR_SANDBOX_CLOSED, RUN_ERR_SANDBOX_BUSY, RUN_ERR_SANDBOX_FAILED, or the reason of the signal
   */
  async take(signal: AbortSignal | undefined): Promise<SandboxProcess> {
    if (this.#closed) throw new RUN_ERR_SANDBOX_CLOSED()
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop())
      if (!idle.isKilled) return idle
    if (this.#waiters.length >= this.#bounds.maxQueue) throw new RUN_ERR_SANDBOX_BUSY(this.#waiters.length)
    const waiter: Waiter = Promise.withResolvers()
    const leave = () => {
      this.#waiters.splice(this.#waiters.indexOf(waiter) >>> 0, 1)
      waiter.reject(signal!.reason)
    }
    this.#waiters.push(waiter)
    signal?.addEventListener('abort', leave, { once: true })
    this.#grow()
    try {
      return await waiter.promise
    } finally {
      signal?.removeEventListener('abort', leave)
    }
  }

  /** Returns a child to the pool; replaces it unless it is certainly clean. */
  give(process: SandboxProcess, isClean: boolean): void {
    process.release()
    if (isClean && !process.isKilled && !this.#closed) this.#offer(process)
    else {
      process.kill('closed')
      void process.gone.then(() => this.#grow(1))
    }
  }

  /** Kills every child; resolves once all have exited. */
  async close(): Promise<void> {
    this.#closed = true
    this.#idle.length = 0
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new RUN_ERR_SANDBOX_CLOSED())
    for (const process of this.#all) process.kill('closed')
    await Promise.all([...this.#all].map(({ gone }) => gone))
  }

  #offer(process: SandboxProcess): void {
    const waiter = this.#waiters.shift()
    if (waiter === undefined) this.#idle.push(process)
    else waiter.resolve(process)
  }

  // One child per waiting program, and at least `spare`, so that the next program finds a warm one.
  #grow(spare = 0): void {
    const wanted = Math.max(this.#waiters.length, spare)
    while (!this.#closed && this.#starting < wanted && this.#all.size < this.#bounds.processes)
      void this.#launch()
  }

  async #launch(): Promise<void> {
    this.#starting++
    const process = await this.#startReady()
    this.#starting--
    if (process !== undefined) return this.#offer(process)
    this.#waiters.shift()?.reject(new RUN_ERR_SANDBOX_FAILED('its process did not start'))
    this.#grow()
  }

  async #startReady(): Promise<SandboxProcess | undefined> {
    let process: SandboxProcess
    try {
      process = this.#start()
    } catch {
      // The system is out of processes, memory or file descriptors.
      return undefined
    }
    this.#all.add(process)
    void process.gone.then(() => this.#forget(process))
    const isReady = await isReadyInTime(process)
    process.release()
    return isReady ? process : undefined
  }

  #forget(process: SandboxProcess): void {
    this.#all.delete(process)
    const at = this.#idle.indexOf(process)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#grow()
  }
}

async function isReadyInTime(process: SandboxProcess): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => process.kill('timeout'), START_MS)
  process.listener = {
    onMessage: ({ type }) => (type === 'ready' ? resolve(true) : process.kill('protocol')),
    onGone: () => resolve(false)
  }
  const isReady = await promise
  clearTimeout(timer)
  return isReady && !process.isKilled
}

type Answer = Extract<ToChild, { type: 'answer' }>
interface Call {
  readonly id: number
  readonly name: string
  readonly args: unknown
}

/** The host tool calls of one program. None starts, and none is answered, after the program has ended. */
class HostCalls {
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

// The child itself stops a program on time; beyond this it hangs in native code, and is killed.
const GRACE_MS = 250
// An idle child has 70 MB, plus uncollected memory of earlier programs.
const CHILD_RSS = 268_435_456

/** The outcome of a program, and the child's last message unless it died. */
export interface RunEnd {
  readonly outcome: SandboxOutcome
  readonly done?: DoneMessage
}

/** Runs one program in one child. */
export class ProgramRun implements ProcessListener {
  readonly ended: Promise<RunEnd>
  readonly #process: SandboxProcess
  readonly #limits: SandboxLimits
  readonly #calls: HostCalls
  readonly #end: (end: RunEnd) => void
  #timer: NodeJS.Timeout | undefined
  #timeLeft: number
  #runsSince = 0
  // Unanswered messages: the child answers each with exactly one, and sends nothing else.
  #owed = 0

  constructor(process: SandboxProcess, program: SandboxRun, input: string, limits: SandboxLimits) {
    this.#process = process
    this.#limits = limits
    this.#timeLeft = limits.timeout + GRACE_MS
    this.#calls = new HostCalls(program.tools, limits, (answer) => this.#send(answer))
    const { promise, resolve } = Promise.withResolvers<RunEnd>()
    this.ended = promise
    this.#end = (end) => {
      this.#stopClock()
      this.#calls.close()
      resolve(end)
    }
    const tools = Object.keys(program.tools)
    process.use(this, maxFrameBytes(limits, tools), limits.memory + CHILD_RSS)
    this.#send({ type: 'run', code: program.code, input, tools, limits })
  }

  onMessage(message: FromChild): void {
    if (this.#owed === 0 || message.type === 'ready') throw new TypeError('unsolicited message')
    if (--this.#owed === 0) this.#stopClock()
    if (message.type === 'waiting') this.#calls.serve(message.calls)
    else this.#end({ outcome: this.#toOutcome(message), done: message })
  }

  onGone(reason: KillReason | undefined): void {
    this.#end({ outcome: { error: toToolError(this.#whyGone(reason)), console: '' } })
  }

  #send(message: ToChild): void {
    this.#process.send(message)
    this.#owed++
    this.#startClock()
  }

  // Runs only while the child is busy, so waits for tools do not count.
  #startClock(): void {
    if (this.#timer !== undefined) return
    this.#runsSince = performance.now()
    this.#timer = setTimeout(() => this.#process.kill('timeout'), this.#timeLeft)
  }

  #stopClock(): void {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#timeLeft -= performance.now() - this.#runsSince
  }

  #toOutcome(done: DoneMessage): SandboxOutcome {
    const { result = null, console: written } = done
    const console = cut(written, this.#limits.maxConsoleBytes)
    const error = this.#faultOf(done)
    return error === undefined ? { result, console } : { error, console }
  }

  #faultOf({ fault, message = '', result }: DoneMessage): ToolError | undefined {
    const bad = fault === 'no-json' ? message : jsonFaultOf(result)
    if (fault === 'timeout') return toToolError(new RUN_ERR_PROGRAM_TIMEOUT(this.#limits.timeout))
    if (fault === 'memory') return toToolError(new RUN_ERR_PROGRAM_MEMORY(this.#limits.memory))
    if (fault === 'failed') return toToolError(new RUN_ERR_PROGRAM_FAILED(message.slice(0, 1_000)))
    if (fault === 'too-large')
      return toToolError(new RUN_ERR_TOOL_OUTPUT_TOO_LARGE(Number(message), this.#limits.maxOutputBytes))
    return bad === undefined ? undefined : toToolError(new RUN_ERR_TOOL_BAD_OUTPUT(bad.slice(0, 1_000)))
  }

  #whyGone(reason: KillReason | undefined): Error {
    if (reason === 'timeout') return new RUN_ERR_PROGRAM_TIMEOUT(this.#limits.timeout)
    if (reason === 'memory') return new RUN_ERR_PROGRAM_MEMORY(this.#limits.memory)
    if (reason === 'closed') return new RUN_ERR_SANDBOX_CLOSED()
    if (reason === 'protocol') return new RUN_ERR_SANDBOX_FAILED('its process violated the protocol')
    return new RUN_ERR_SANDBOX_FAILED('its process died')
  }
}

// Drops a character that is cut in half.
function cut(text: string, maxBytes: number): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, maxBytes), { stream: true })
}

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
