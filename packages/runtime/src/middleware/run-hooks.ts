import {
  codeOf,
  defined,
  isExposed,
  isPromise,
  textOfInput,
  toLoggable,
  type Awaitable,
  type Journal,
  type RunContext,
  type RunInput,
  type RunnableKey,
  type RunnableKind,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_GUARD_FAILED } from '@svc/contract/errors'
import { RUN_ERR_BAD_MIDDLEWARE } from '../errors.ts'
import type { RunEvents } from '../events/events.ts'
import type { Guard } from '../guards/guard.ts'
import { copyPlain } from '../sessions/to-prompt.ts'
import { HookCall } from './hook-call.ts'
import {
  isBlock,
  readBlock,
  type Block,
  type GuardPoint,
  type HookState,
  type MessageState,
  type PlannedMiddleware
} from './middleware.ts'

/** A run around which there are hooks. */
export interface HookedRun {
  readonly kind: RunnableKind
  readonly name: string
  readonly context: RunContext
  readonly guard: Guard
  readonly events: RunEvents
}

/** A message to a run. */
export interface Message {
  readonly input: RunInput
  /** 0 is the input of the run; those that join it count from 1. */
  readonly number: number
  /** True if no step of a model follows, with which the answers could be recorded. */
  readonly alone: boolean
  /** Checks a changed input. @throws what is wrong with it */
  accepts(input: RunInput): void
}

/** What hooks have made of a message. */
export interface Entry {
  readonly input: RunInput
  /** Set if the message is blocked. */
  readonly block: Block | undefined
  /** The `guard` parts about it. */
  readonly parts: readonly YieldedPart[]
}

/** What a hook said to a message, as the journal has it; nothing is recorded of one that allowed it. */
interface MessageAnswer {
  readonly name: string
  /** True if it changes nothing. */
  readonly audits?: true
  readonly block?: Block
  /** Unless it is blocked. */
  readonly input?: RunInput
}

/** The hooks around one run: those of the app and of the teams and workflows that it is a part of, then its own. */
export class RunHooks {
  readonly #run: HookedRun
  readonly #key: RunnableKey
  /** From the outermost in. */
  readonly #list: readonly PlannedMiddleware[]
  readonly #checking: readonly PlannedMiddleware[]
  #unrecorded: { readonly key: string; readonly answers: readonly MessageAnswer[] } | undefined

  constructor(run: HookedRun, own: readonly PlannedMiddleware[]) {
    const { use, registry } = run.context
    this.#run = run
    this.#key = { registry, kind: run.kind, name: run.name }
    this.#list = [...((use?.list ?? []) as readonly PlannedMiddleware[]), ...own]
    this.#checking = this.#list.slice(use?.passed).filter(({ beforeRun }) => beforeRun !== undefined)
  }

  /** True if messages to the run are checked. */
  get checksMessages(): boolean {
    return this.#checking.length > 0
  }

  /** Has a message checked, unless an earlier process has. @throws RUN_ERR_GUARD_FAILED, exposed errors of hooks, why the run must end */
  async enter(message: Message): Promise<Entry> {
    const { journal } = this.#run.context
    const key = `#use beforeRun ${message.number}`
    const recorded = await journal?.recall(key)
    if (recorded !== undefined) {
      const answers = recorded.output as readonly MessageAnswer[]
      return toEntry(message.input, answers, (part) => journal!.replay(part))
    }
    const answers = await this.#ask(message)
    const { input, block, parts } = toEntry(message.input, answers, (part) => part)
    if (journal === undefined || hasUploads(input)) return { input, block, parts }
    const last = parts.at(-1)
    if (last !== undefined)
      return { input, block, parts: [...parts.slice(0, -1), journal.record(last, key, answers).part] }
    if (this.#unrecorded !== undefined) await this.#recordAlone(journal)
    this.#unrecorded = { key, answers }
    if (message.alone) await this.#recordAlone(journal)
    return { input, block, parts }
  }

  /** A part about to be yielded, with what is to be recorded; another process then asks no hook again. */
  carry<P extends YieldedPart>(part: P): P {
    const { journal } = this.#run.context
    if (journal === undefined || this.#unrecorded === undefined) return part
    const { key, answers } = this.#unrecorded
    this.#unrecorded = undefined
    return journal.record(part, key, answers).part
  }

  async #recordAlone(journal: Journal): Promise<void> {
    const { key, answers } = this.#unrecorded!
    this.#unrecorded = undefined
    const stored = journal.record({ type: 'step.start', index: 0, attempt: 1 }, key, answers).stored()
    if (isPromise(stored)) await this.#run.guard.wait(stored)
  }

  async #ask({ input, number, accepts }: Message): Promise<MessageAnswer[]> {
    const answers: MessageAnswer[] = []
    let current = input
    for (const middleware of this.#checking) {
      const { name, audits } = middleware
      const given = current
      const said = await this.#call(
        middleware,
        (call) =>
          middleware.beforeRun!(new AskedMessage(this.#run.context, this.#key, call, given, number > 0)),
        (value) => readAnswer(value, accepts)
      )
      if (said === undefined) continue
      answers.push({ name, ...(audits && { audits }), ...said })
      this.#tell('input', middleware, said.block === undefined ? 'replace' : 'block', said.block)
      if (audits) continue
      if (said.block !== undefined) break
      current = said.input
    }
    return answers
  }

  /** Calls a hook and reads its answer; undefined if it failed, and its failures allow. */
  async #call<T>(
    middleware: PlannedMiddleware,
    ask: (call: HookCall) => Awaitable<unknown>,
    read: (value: unknown) => T
  ): Promise<T | undefined> {
    const { guard, context } = this.#run
    const call = new HookCall(guard, context, middleware.timeout)
    let value: unknown
    try {
      value = await call.settle(() => ask(call))
    } catch (err) {
      return this.#fail(middleware, err, isExposed(err))
    }
    try {
      return read(value)
    } catch (err) {
      return this.#fail(middleware, err, false)
    }
  }

  #fail({ name, failsOpen }: PlannedMiddleware, err: unknown, passes: boolean): undefined {
    const { guard, context } = this.#run
    guard.check()
    if (codeOf(err) === 'RUN_ERR_REJECTED') throw err
    context.log.error({ runId: context.runId, middleware: name, err: toLoggable(err) }, 'a hook failed')
    if (failsOpen) return undefined
    throw passes ? err : Object.assign(new RUN_ERR_GUARD_FAILED({ cause: err }), { retryable: true })
  }

  #tell(
    on: GuardPoint,
    { name, audits }: PlannedMiddleware,
    action: 'replace' | 'block',
    { reason, note }: Partial<Block> = {}
  ): void {
    const { context, events } = this.#run
    const verdict = { name, on, action: audits ? ('audit' as const) : action, ...defined({ reason, note }) }
    events.emit('guard.verdict', () => verdict)
    context.log.info({ runId: context.runId, ...verdict }, 'a middleware stepped in')
  }
}

/** What a hook is told, whatever it is asked. */
abstract class Asked implements HookState {
  readonly context: RunContext
  readonly runnable: RunnableKey
  readonly isReplayed: boolean
  readonly #call: HookCall

  constructor(context: RunContext, runnable: RunnableKey, call: HookCall) {
    this.context = context
    this.runnable = runnable
    this.isReplayed = context.journal?.begun === true
    this.#call = call
  }

  get signal(): AbortSignal {
    return this.#call.signal
  }
}

class AskedMessage extends Asked implements MessageState {
  readonly input: RunInput
  readonly text: string
  readonly joined: boolean

  constructor(context: RunContext, runnable: RunnableKey, call: HookCall, input: RunInput, joined: boolean) {
    super(context, runnable, call)
    this.input = copyPlain(input)
    this.text = textOfInput(input)
    this.joined = joined
  }
}

function toEntry(
  given: RunInput,
  answers: readonly MessageAnswer[],
  mark: (part: YieldedPart) => YieldedPart
): Entry {
  const counted = answers.filter(({ audits }) => audits === undefined)
  return {
    input: counted.findLast(({ block }) => block === undefined)?.input ?? given,
    block: counted.find(({ block }) => block !== undefined)?.block,
    parts: answers.map(({ name, audits, block }) =>
      mark({
        type: 'guard',
        name,
        on: 'input',
        action: audits ? 'audit' : block === undefined ? 'replace' : 'block',
        ...defined({ reason: block?.reason })
      })
    )
  }
}

function readAnswer(
  value: unknown,
  accepts: Message['accepts']
): { readonly block: Block } | { readonly block?: undefined; readonly input: RunInput } | undefined {
  if (value === undefined) return undefined
  if (isBlock(value)) return { block: readBlock(value) }
  const { input } = Object(value) as { input?: RunInput }
  if (input === undefined)
    throw new RUN_ERR_BAD_MIDDLEWARE('beforeRun: expected nothing, an input or a block')
  const copy = copyPlain(input)
  accepts(copy)
  return { input: copy }
}

// Bytes of uploads are not JSON.
function hasUploads(input: RunInput): boolean {
  return Array.isArray(input) && input.some((part: object) => 'file' in part)
}
