import type { ToolError } from '@svc/contract'
import {
  RUN_ERR_PROGRAM_FAILED,
  RUN_ERR_PROGRAM_MEMORY,
  RUN_ERR_PROGRAM_TIMEOUT,
  RUN_ERR_SANDBOX_CLOSED,
  RUN_ERR_SANDBOX_FAILED,
  RUN_ERR_TOOL_BAD_OUTPUT,
  RUN_ERR_TOOL_OUTPUT_TOO_LARGE,
  toToolError
} from '../errors.ts'
import { HostCalls } from './host-calls.ts'
import { maxFrameBytes, type DoneMessage, type FromChild, type ToChild } from './messages.ts'
import { jsonFaultOf } from '../json/json-faults.ts'
import type { SandboxLimits, SandboxOutcome, SandboxRun } from './sandbox.ts'
import type { KillReason, ProcessListener, SandboxProcess } from './sandbox-process.ts'

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
