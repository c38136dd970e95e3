import {
  codeOf,
  defined,
  isExposed,
  isPromise,
  textOfInput,
  toLoggable,
  type Awaitable,
  type Journal,
  type PartOf,
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
import { readVerdict } from './guard.ts'
import { holdText, type HeldText, type TextVerdict } from './held-text.ts'
import { HookCall } from './hook-call.ts'
import {
  isBlock,
  readBlock,
  type Block,
  type GuardPoint,
  type HookState,
  type MessageState,
  type PlannedMiddleware,
  type TextState
} from './middleware.ts'
import type { TextChecks } from './text-gate.ts'

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

/** What a hook said to a message, as the journal has it. */
interface MessageAnswer {
  /** Of the middleware; a second one of a name has `#2` behind it. */
  readonly name: string
  /** True if it changes nothing. */
  readonly audits?: true
  /** Undefined if it allowed the message. */
  readonly change?: MessageChange
}

type MessageChange = { readonly block: Block } | { readonly block?: undefined; readonly input: RunInput }

/** Answers that the journal does not have yet. */
interface Unrecorded {
  readonly key: string
  readonly answers: readonly MessageAnswer[]
}

/** The hooks around one run: those of the app and of the teams and workflows that it is a part of, then its own. */
export class RunHooks {
  readonly #run: HookedRun
  readonly #key: RunnableKey
  /** From the outermost in. */
  readonly #list: readonly PlannedMiddleware[]
  readonly #checking: readonly PlannedMiddleware[]
  #unrecorded: Unrecorded | undefined

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

  /**
   * Has a message checked, by the hooks that no earlier process has recorded.
   * @throws RUN_ERR_GUARD_FAILED, exposed errors of hooks, why the run must end
   */
  async enter(message: Message): Promise<Entry> {
    const { journal } = this.#run.context
    const entering = new Entering(message, journal)
    await entering.recall()
    for (const [at, middleware] of this.#checking.entries()) {
      if (entering.block !== undefined) break
      const id = idOf(this.#checking, at)
      if (entering.has(id)) continue
      const { audits } = middleware
      const change = await this.#askMessage(middleware, message, entering.input)
      entering.add({ name: id, ...(audits && { audits }), ...defined({ change }) })
      if (change !== undefined)
        this.#tell('input', middleware, change.block === undefined ? 'replace' : 'block', change.block)
    }
    const { unrecorded } = entering
    if (journal !== undefined && unrecorded !== undefined) {
      if (this.#unrecorded !== undefined) await this.#recordAlone(journal)
      this.#unrecorded = unrecorded
      if (message.alone) await this.#recordAlone(journal)
    }
    return entering
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

  #askMessage(
    middleware: PlannedMiddleware,
    { number, accepts }: Message,
    input: RunInput
  ): Promise<MessageChange | undefined> {
    const { context } = this.#run
    return this.#call(
      middleware,
      (call) => middleware.beforeRun!(new AskedMessage(context, this.#key, call, input, number > 0)),
      (value) => readChange(value, accepts)
    )
  }

  /** The checks of what the model says in a step; undefined if there are none. */
  textChecks(index: number): TextChecks | undefined {
    const list = this.#list.filter(({ onText }) => onText !== undefined).toReversed()
    if (list.length === 0) return undefined
    return {
      hold: (of, report) => {
        const holds = list.flatMap((each) => this.#hold(each, of, index, report) ?? [])
        return holds.length === 0 ? undefined : holds
      }
    }
  }

  #hold(
    middleware: PlannedMiddleware,
    of: TextState['of'],
    stepNumber: number,
    report: (part: YieldedPart) => void
  ): HeldText | undefined {
    const { name, audits } = middleware
    const { hold, of: texts = [of], check } = middleware.onText!
    if (!texts.includes(of)) return undefined
    const on = of === 'text' ? 'output' : 'reasoning'
    const ask = async (held: string, text: string, final: boolean): Promise<TextVerdict> => {
      const said = { of, held, text, final, stepNumber }
      const { context } = this.#run
      const verdict = await this.#call(
        middleware,
        (call) => check(new AskedText(context, this.#key, call, said)),
        readVerdict
      )
      if (verdict === undefined) return undefined
      const { reason } = verdict as Partial<Block>
      const action = audits ? 'audit' : verdict.action
      report({ type: 'guard', name, on, action, ...defined({ reason }), index: stepNumber })
      this.#tell(on, middleware, verdict.action, verdict as Partial<Block>, stepNumber)
      return verdict
    }
    return holdText(hold, ask, audits)
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
      // A guard's check may have given what it may not.
      return this.#fail(middleware, err, isExposed(err) && codeOf(err) !== 'RUN_ERR_BAD_MIDDLEWARE')
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
    { reason, note }: Partial<Block> = {},
    index?: number
  ): void {
    const { context, events } = this.#run
    const told = audits ? ('audit' as const) : action
    const verdict = { name, on, action: told, ...defined({ reason, note, index }) }
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

class AskedText extends Asked implements TextState {
  readonly of: TextState['of']
  readonly text: string
  readonly held: string
  readonly final: boolean
  readonly stepNumber: number

  constructor(
    context: RunContext,
    runnable: RunnableKey,
    call: HookCall,
    said: Pick<TextState, 'of' | 'text' | 'held' | 'final' | 'stepNumber'>
  ) {
    super(context, runnable, call)
    this.of = said.of
    this.text = said.text
    this.held = said.held
    this.final = said.final
    this.stepNumber = said.stepNumber
  }
}

/** A message on its way through the hooks. */
class Entering implements Entry {
  readonly parts: YieldedPart[] = []
  input: RunInput
  block: Block | undefined
  readonly #key: string
  readonly #journal: Journal | undefined
  readonly #names = new Set<string>()
  #pending: MessageAnswer[] = []
  #records = 0

  constructor({ input, number }: Message, journal: Journal | undefined) {
    this.input = input
    this.#key = `#use beforeRun ${number}`
    this.#journal = journal
  }

  /** Takes the answers that an earlier process recorded. */
  async recall(): Promise<void> {
    const journal = this.#journal
    while (journal !== undefined) {
      const recorded = await journal.recall(this.#nextKey)
      if (recorded === undefined) break
      this.#records++
      for (const answer of recorded.output as readonly MessageAnswer[]) {
        this.#take(answer)
        if (answer.change !== undefined) this.parts.push(journal.replay(toPart(answer, answer.change)))
      }
    }
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  /** Takes an answer. A change is recorded with its part, and what was allowed before it too. */
  add(answer: MessageAnswer): void {
    this.#take(answer)
    this.#pending.push(answer)
    if (answer.change === undefined) return
    const part = toPart(answer, answer.change)
    const { unrecorded } = this
    if (unrecorded === undefined) return void this.parts.push(part)
    this.#pending = []
    this.#records++
    this.parts.push(this.#journal!.record(part, unrecorded.key, unrecorded.answers).part)
  }

  /** What is left to be recorded; undefined if it is nothing that a journal could have. */
  get unrecorded(): Unrecorded | undefined {
    if (this.#journal === undefined || this.#pending.length === 0 || hasUploads(this.input)) return undefined
    return { key: this.#nextKey, answers: this.#pending }
  }

  get #nextKey(): string {
    return `${this.#key}.${this.#records}`
  }

  #take({ name, audits, change }: MessageAnswer): void {
    this.#names.add(name)
    if (audits || change === undefined) return
    if (change.block === undefined) this.input = change.input
    else this.block = change.block
  }
}

function toPart({ name, audits }: MessageAnswer, { block }: MessageChange): PartOf<'guard'> {
  const action = audits ? 'audit' : block === undefined ? 'replace' : 'block'
  return {
    type: 'guard',
    name: name.split('#')[0]!,
    on: 'input',
    action,
    ...defined({ reason: block?.reason })
  }
}

// Lists of different owners may have one name.
function idOf(list: readonly PlannedMiddleware[], at: number): string {
  const { name } = list[at]!
  const earlier = list.slice(0, at).filter((each) => each.name === name).length
  return earlier === 0 ? name : `${name}#${earlier + 1}`
}

function readChange(value: unknown, accepts: Message['accepts']): MessageChange | undefined {
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
