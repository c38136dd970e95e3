import type { QuickJSContext, QuickJSHandle, QuickJSRuntime } from 'quickjs-emscripten-core'
import type { ProgramFault, ToChild } from '../sandbox-process.ts'
import type { Instance } from './instance.ts'

/**
 * Evaluated in every fresh QuickJS before the program: defines `input`, `tools` and `console` for the program, and returns
 * functions that start it and answer its calls. Not a security boundary: a program that tampers with it can emit only texts.
 */
const PRELUDE = String.raw`(emit, input, names, maxConsole, maxMessage) => {
  const { stringify, parse } = JSON
  const { PromiseCtor, ErrorCtor, Str } = { PromiseCtor: Promise, ErrorCtor: Error, Str: String }
  const waiting = { __proto__: null }
  let nextId = 1
  let consoleLeft = maxConsole
  // As JSON: a plain string would be cut at its first NUL.
  const send = (what, text, thrown) => emit(what, stringify(text), thrown === null ? 'null' : undefined)

  const show = (value) => {
    if (typeof value === 'string') return value
    if (typeof value === 'number' || typeof value === 'bigint') return Str(value)
    try {
      if (value instanceof ErrorCtor) return Str(value.name) + ': ' + Str(value.message)
      const json = stringify(value)
      return json === undefined ? Str(value) : json
    } catch {
      return typeof value
    }
  }
  const log = (...values) => {
    if (consoleLeft <= 0) return
    let line = ''
    for (let index = 0; index < values.length && line.length < consoleLeft; index++)
      line += (index > 0 ? ' ' : '') + show(values[index])
    line = (line + '\n').slice(0, consoleLeft)
    consoleLeft -= line.length
    send('console', line)
  }
  globalThis.console = { log, info: log, warn: log, error: log, debug: log }
  globalThis.input = parse(input)
  globalThis.tools = { __proto__: null }

  for (const name of parse(names)) {
    tools[name] = (args = {}) =>
      new PromiseCtor((resolve, reject) => {
        const json = stringify(args)
        if (json === undefined) throw new TypeError('The arguments of ' + name + ' are not JSON')
        const id = nextId++
        waiting[id] = { resolve, reject }
        const refusal = emit('call', json, name, id)
        if (refusal !== undefined) throw new ErrorCtor(refusal)
      })
  }
  Object.freeze(tools)

  const describe = (thrown) => {
    try {
      if (!(thrown instanceof ErrorCtor)) return show(thrown).slice(0, maxMessage)
      const stack = typeof thrown.stack === 'string' ? '\n' + thrown.stack.trimEnd() : ''
      return (Str(thrown.name) + ': ' + Str(thrown.message) + stack).slice(0, maxMessage)
    } catch {
      return 'The program failed'
    }
  }
  return {
    run: (program) => {
      program().then(
        (value) => {
          let json
          try {
            json = value === undefined ? 'null' : stringify(value)
          } catch (err) {
            return send('no-json', describe(err), err)
          }
          if (json === undefined) send('no-json', 'it is a ' + typeof value)
          else emit('result', json)
        },
        (thrown) => send('failed', describe(thrown), thrown)
      )
    },
    answer: (id, ok, json) => {
      const { resolve, reject } = waiting[id]
      delete waiting[id]
      const value = parse(json)
      if (ok) return resolve(value)
      const error = new ErrorCtor(value.message)
      error.code = value.code
      reject(error)
    }
  }
}`

const STACK_BYTES = 262_144
const JOBS_AT_ONCE = 1_000
const MAX_MESSAGE = 1_000
// Fraction of its limit: the remainder is too small for further objects.
const FULL = 0.9

/** A call of the program; `args` is JSON. */
interface ProgramCall {
  id: number
  name: string
  args: string
}

/** How a program ended; `json` is its result. */
export type ProgramEnd =
  | { json: string; fault?: never }
  | { json?: never; fault: ProgramFault; message: string }

/** One program in its own QuickJS. Runs only within `start` and `answer`. */
export class Program {
  /** Output so far. */
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

  /** Runs until the program ends, or waits for calls (undefined). */
  start(): ProgramEnd | undefined {
    return this.#advance(() => {
      const vm = this.#vm
      const { code, input, tools, limits } = this.#run
      const prelude = vm.unwrapResult(vm.evalCode(`(${PRELUDE})`, 'prelude.js'))
      const emit = vm.newFunction('emit', (what, text, name, id) => {
        const refusal = this.#receive(vm.getString(what), vm.getString(text), name && vm.getString(name), id)
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

  /** Continues with the answer to a call. */
  answer({ id, ok, json }: Extract<ToChild, { type: 'answer' }>): ProgramEnd | undefined {
    this.#outstanding--
    return this.#advance(() => {
      const vm = this.#vm
      const given = [vm.newNumber(id), ok ? vm.true : vm.false, vm.newString(json)]
      const settled = vm.callFunction(this.#answer!, vm.undefined, ...given)
      if (settled.error) this.#fail(settled.error)
    })
  }

  /** Takes the calls made since the last `takeCalls`. */
  takeCalls(): ProgramCall[] {
    const calls = this.#calls
    this.#calls = []
    this.#callBytes = 0
    return calls
  }

  #advance(step: () => void): ProgramEnd | undefined {
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
    // If memory ran out for creating a promise, it never settles.
    this.#fault(this.#isFull() ? 'memory' : 'failed', 'The program waits for a promise that never settles')
    return this.#end
  }

  // True if the program has at some time used nearly all of its memory.
  #isFull(): boolean {
    return this.#instance.peak() >= this.#run.limits.memory * FULL
  }

  // The time-out may interrupt the prelude too.
  #inTime(step: () => void): void {
    try {
      step()
    } catch (err) {
      if (!this.#checkTime()) throw err
    }
  }

  // A program with a result still waits for its pending calls.
  get #isOver(): boolean {
    if (this.#isLate || this.#end?.fault !== undefined) return true
    return this.#end !== undefined && this.#outstanding === 0
  }

  #checkTime(): boolean {
    return (this.#isLate ||= performance.now() >= this.#deadline)
  }

  #receive(what: string, text: string, name = '', id?: QuickJSHandle): string | undefined {
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
      return `The arguments of pending calls have more than ${maxOutputBytes} bytes`
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

  // QuickJS throws null when it has no memory for an error; a program may throw null too.
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
