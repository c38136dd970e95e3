import type { QuickJSContext, QuickJSHandle, QuickJSRuntime } from 'quickjs-emscripten-core'
import type { ProgramFault, ToChild } from '../messages.ts'
import type { Instance } from './instance.ts'
import { PRELUDE } from './prelude.ts'

const STACK_BYTES = 262_144
const JOBS_AT_ONCE = 1_000
const MAX_MESSAGE = 1_000
// Of its limit: what is left has room for no more objects.
const FULL = 0.9

/** A call as the program made it; `args` is JSON. */
interface ProgramCall {
  id: number
  name: string
  args: string
}

/** What came of a program; `json` is its result. */
export type ProgramEnd =
  | { json: string; fault?: never }
  | { json?: never; fault: ProgramFault; message: string }

/** One program in a QuickJS of its own. It goes on only within `start` and `answer`. */
export class Program {
  /** What it wrote so far. */
  console = ''
  readonly #run: Extract<ToChild, { type: 'run' }>
  readonly #instance: Instance
  readonly #runtime: QuickJSRuntime
  readonly #vm: QuickJSContext
  #answer: QuickJSHandle | undefined
  #calls: ProgramCall[] = []
  #callBytes = 0
  #callsMade = 0
  #outstanding = 0
  #end: ProgramEnd | undefined
  #timeLeft: number
  #deadline = Infinity
  #isLate = false

  constructor(instance: Instance, run: Extract<ToChild, { type: 'run' }>) {
    this.#run = run
    this.#timeLeft = run.limits.timeout
    this.#instance = instance
    this.#runtime = instance.engine.newRuntime()
    this.#runtime.setMemoryLimit(run.limits.memory)
    this.#runtime.setMaxStackSize(STACK_BYTES)
    this.#runtime.setInterruptHandler(() => this.#checkTime())
    this.#vm = this.#runtime.newContext()
  }

  /** Runs until the program is over, which gives its end, or waits for calls. */
  start(): ProgramEnd | undefined {
    return this.#goOn(() => {
      const vm = this.#vm
      const { code, input, tools, limits } = this.#run
      const prelude = vm.unwrapResult(vm.evalCode(`(${PRELUDE})`, 'prelude.js'))
      const emit = vm.newFunction('emit', (what, text, name, id) => {
        const refusal = this.#hear(vm.getString(what), vm.getString(text), name && vm.getString(name), id)
        return refusal === undefined ? vm.undefined : vm.newString(refusal)
      })
      const given = [vm.newString(input), vm.newString(JSON.stringify(tools))]
      const bounds = [vm.newNumber(limits.maxConsoleBytes), vm.newNumber(MAX_MESSAGE)]
      const made = vm.callFunction(prelude, vm.undefined, emit, ...given, ...bounds)
      if (made.error) return this.#fail(made.error)
      this.#answer = vm.getProp(made.value, 'answer')
      const program = vm.evalCode(`(async () => {${code}\n})`, 'program.js')
      if (program.error) return this.#fail(program.error)
      const started = vm.callFunction(vm.getProp(made.value, 'run'), vm.undefined, program.value)
      if (started.error) this.#fail(started.error)
    })
  }

  /** The same, once a call has its answer. */
  answer({ id, ok, json }: Extract<ToChild, { type: 'answer' }>): ProgramEnd | undefined {
    this.#outstanding--
    return this.#goOn(() => {
      const vm = this.#vm
      const given = [vm.newNumber(id), ok ? vm.true : vm.false, vm.newString(json)]
      const settled = vm.callFunction(this.#answer!, vm.undefined, ...given)
      if (settled.error) this.#fail(settled.error)
    })
  }

  /** The calls that were made since they were last taken. */
  takeCalls(): ProgramCall[] {
    const calls = this.#calls
    this.#calls = []
    this.#callBytes = 0
    return calls
  }

  #goOn(step: () => void): ProgramEnd | undefined {
    const startedAt = performance.now()
    this.#deadline = startedAt + this.#timeLeft
    this.#inTime(step)
    while (!this.#isOver && this.#runtime.hasPendingJob()) {
      const jobs = this.#runtime.executePendingJobs(JOBS_AT_ONCE)
      if (jobs.error) this.#fail(jobs.error)
      this.#checkTime()
    }
    this.#timeLeft -= performance.now() - startedAt
    if (this.#isLate) return { fault: 'timeout', message: '' }
    if (this.#isOver) return this.#end
    if (this.#outstanding > 0) return undefined
    // A promise that could not be made for lack of memory is never settled.
    this.#fault(this.#isFull() ? 'memory' : 'failed', 'The program waits for something that never comes')
    return this.#end
  }

  // Whether the program has had next to all of its memory at some time.
  #isFull(): boolean {
    return this.#instance.peak() >= this.#run.limits.memory * FULL
  }

  // What comes before the program may be cut short too.
  #inTime(step: () => void): void {
    try {
      step()
    } catch (err) {
      if (!this.#checkTime()) throw err
    }
  }

  // A program that has its result still waits for the calls that it made.
  get #isOver(): boolean {
    if (this.#isLate || this.#end?.fault !== undefined) return true
    return this.#end !== undefined && this.#outstanding === 0
  }

  #checkTime(): boolean {
    return (this.#isLate ||= performance.now() >= this.#deadline)
  }

  #hear(what: string, text: string, name = '', id?: QuickJSHandle): string | undefined {
    const { maxOutputBytes, maxConsoleBytes } = this.#run.limits
    if (what === 'console') this.console = (this.console + textOf(text)).slice(0, maxConsoleBytes)
    else if (what === 'call') return this.#call({ id: this.#vm.getNumber(id!), name, args: text })
    else if (what !== 'result') this.#thrown(what as ProgramFault, textOf(text), name === 'null')
    else if (Buffer.byteLength(text) <= maxOutputBytes) this.#end ??= { json: text }
    else this.#fault('too-large', String(Buffer.byteLength(text)))
    return undefined
  }

  #call(call: ProgramCall): string | undefined {
    const { maxOutputBytes, maxToolCalls } = this.#run.limits
    if (this.#callsMade >= maxToolCalls) return `A program may call at most ${maxToolCalls} tools`
    if (this.#callBytes + Buffer.byteLength(call.args) > maxOutputBytes)
      return `The arguments of calls have more than ${maxOutputBytes} bytes together`
    this.#callsMade++
    this.#outstanding++
    this.#callBytes += Buffer.byteLength(call.args)
    this.#calls.push(call)
    return undefined
  }

  #fail(thrown: QuickJSHandle): void {
    const error: unknown = this.#vm.dump(thrown)
    const { name, message, stack } = (error ?? {}) as Record<string, unknown>
    if (typeof name !== 'string' || typeof message !== 'string')
      return this.#thrown('failed', error === null ? 'null' : 'The program failed', error === null)
    const trace = typeof stack === 'string' ? `\n${stack.trimEnd()}` : ''
    this.#thrown('failed', `${name}: ${message}${trace}`)
  }

  // QuickJS throws null when it has no memory left for an error; so may a program.
  #thrown(fault: ProgramFault, message: string, isNull = false): void {
    const isMemory = isNull ? this.#isFull() : message.startsWith('InternalError: out of memory')
    this.#fault(isMemory ? 'memory' : fault, message)
  }

  #fault(fault: ProgramFault, message: string): void {
    this.#end ??= { fault, message: message.slice(0, MAX_MESSAGE) }
  }
}

function textOf(json: string): string {
  return String(JSON.parse(json))
}
