import { Type } from '@sinclair/typebox'
import {
  defined,
  functionSchema,
  millisecondsSchema,
  requireOptions,
  type Awaitable,
  type PartOf,
  type RunContext,
  type RunInput,
  type RunMiddleware,
  type RunnableKey
} from '@svc/contract'
import { RUN_ERR_BLOCKED } from '@svc/contract/errors'
import { prefixedError } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_MIDDLEWARE } from '../errors.ts'
import { isPlain } from '../json/json.ts'

/** What every hook is told. A hook gets copies: changing them changes nothing. */
export interface HookState {
  readonly context: RunContext
  /** The agent, team or workflow that runs. */
  readonly runnable: RunnableKey
  /** True if an earlier process may have asked the hook the same, and did not record its answer. */
  readonly isReplayed: boolean
  /** Aborts when the run ends, or the time of the hook is out. */
  readonly signal: AbortSignal
}

/** A message to a run. */
export interface MessageState extends HookState {
  readonly input: RunInput
  /** The text of the input: the text parts of a list, the JSON of any other value. */
  readonly text: string
  /** True for a message that joins the run. */
  readonly joined: boolean
}

/** Stops what it is returned for. */
export interface Block {
  readonly action: 'block'
  /** Shown to clients; at most 512 characters. */
  readonly reason?: string
  /** Said in the place of what is blocked; the run then completes with `content-filter`. Default: it fails with RUN_ERR_BLOCKED. */
  readonly answer?: string
  /** For the events and the log of the service; at most 4,096 characters. */
  readonly note?: string
}

/** How much text waits for its check: a number of characters that stay behind, each sentence, or all of the step. */
export type TextHold = number | 'sentence' | 'step'

/** Text of a model on its way to the log, the session and every reader. */
export interface TextState extends HookState {
  readonly of: 'text' | 'reasoning'
  /** All of the step so far; of reasoning, of its block. */
  readonly text: string
  /** What of it is to be checked now, at its end. */
  readonly held: string
  /** True if no more text follows. */
  readonly final: boolean
  readonly stepNumber: number
}

/** A check of the text of a model, which passes only once it is checked. */
export interface TextHook {
  /**
   * A number, 1–65,536: so many characters stay behind what has passed, so that no match of that length is ever cut. `sentence`: what may
   * be a match across two sentences may have the first one out. `step`: nothing passes before the step is complete.
   */
  readonly hold: TextHold
  /** Default: both, since readers see both. */
  readonly of?: readonly ('text' | 'reasoning')[]
  /** Checks what is held; to return nothing allows it. */
  check(
    state: TextState
  ): Awaitable<
    void | { readonly action: 'allow' } | { readonly action: 'replace'; readonly text: string } | Block
  >
}

/**
 * Hooks around a run, which waits for them. They fail closed: where a hook throws, takes too long or returns anything but its type, the
 * run ends with RUN_ERR_GUARD_FAILED. RUN_ERR_REJECTED and other exposed errors end it as they are.
 */
export interface Middleware extends RunMiddleware {
  /** 1–64 letters, digits, `_`, `.` and `-`; unique in its list. */
  readonly name: string
  /** Milliseconds of one call of a hook, without the time in which it waits for people; default 10,000. */
  readonly timeout?: number
  /**
   * Called with the input of a run before its history and memory are read, and with each message that joins the run. Another input goes
   * to prompt, session and memory; the log keeps what was sent. A blocked message that joins is dropped.
   */
  beforeRun?(state: MessageState): Awaitable<void | { readonly input: RunInput } | Block>
  /** Called with what models say, by windows. What is blocked, and what is replaced, is nowhere. */
  readonly onText?: TextHook
}

/** Where in a run a verdict was given, as in its `guard` part. */
export type GuardPoint = PartOf<'guard'>['on']

/** How the answers of a middleware's hooks count. */
export interface Enforcement {
  /** True: an answer is reported, and changes nothing. */
  readonly audits: boolean
  /** True: a hook that fails changes nothing. */
  readonly failsOpen: boolean
}

/** A middleware as runs use it: its hooks are read once. */
export interface PlannedMiddleware extends RunMiddleware, Enforcement {
  readonly timeout: number
  readonly beforeRun: Middleware['beforeRun']
  readonly onText: TextHook | undefined
}

/** The key under which `guard` keeps how its verdicts count; the same in every installed copy of this package. */
export const ENFORCEMENT = Symbol.for('@svc/runtime/enforcement')

const MAX_MIDDLEWARE = 32
const TIMEOUT = 10_000
const ENFORCED: Enforcement = { audits: false, failsOpen: false }

export const HoldSchema = Type.Union([
  Type.Integer({ minimum: 1, maximum: 65_536 }),
  Type.Literal('sentence'),
  Type.Literal('step')
])
const TextsSchema = Type.Array(Type.Union([Type.Literal('text'), Type.Literal('reasoning')]), {
  minItems: 1,
  uniqueItems: true
})

const fields = {
  name: Type.String({ pattern: String.raw`^[\w.-]{1,64}$` }),
  timeout: Type.Optional(millisecondsSchema('Of one call of a hook; default 10,000')),
  beforeRun: Type.Optional(functionSchema()),
  onText: Type.Optional(
    Type.Object({ hold: HoldSchema, of: Type.Optional(TextsSchema), check: functionSchema() })
  )
}
const MiddlewareSchema = Type.Object(fields)
const StrictSchema = Type.Object(fields, { additionalProperties: false })
const HOOKS = ['beforeRun', 'onText'] as const

/** The schema of the option `use`; each middleware is checked by `planMiddleware`. */
export const UseSchema = Type.Array(Type.Any())

/**
 * Checks a list of middleware, and reads its hooks.
 * @throws RUN_ERR_BAD_MIDDLEWARE
 */
export function planMiddleware(use: readonly Middleware[] = []): readonly PlannedMiddleware[] {
  if (use.length > MAX_MIDDLEWARE)
    throw new RUN_ERR_BAD_MIDDLEWARE(`use: expected at most ${MAX_MIDDLEWARE}, got ${use.length}`)
  const planned = use.map((each, index) => plan(each, `use/${index}`))
  for (const [index, { name }] of planned.entries())
    if (planned.findIndex((each) => each.name === name) < index)
      throw new RUN_ERR_BAD_MIDDLEWARE(`use/${index}: another one has the name "${name}"`)
  return planned
}

function plan(middleware: Middleware, where: string): PlannedMiddleware {
  // Instances of classes may have fields of their own; in a literal, an unknown one is a hook that would never be called.
  const schema = isPlain(middleware) ? StrictSchema : MiddlewareSchema
  requireOptions(schema, middleware, prefixedError(where, RUN_ERR_BAD_MIDDLEWARE))
  if (HOOKS.every((hook) => middleware[hook] === undefined))
    throw new RUN_ERR_BAD_MIDDLEWARE(`${where}: expected a hook: ${HOOKS.join(', ')}`)
  const { name, timeout = TIMEOUT, onText } = middleware
  const enforcement = (middleware as { [ENFORCEMENT]?: Enforcement })[ENFORCEMENT] ?? ENFORCED
  return {
    name,
    timeout,
    ...enforcement,
    beforeRun: middleware.beforeRun?.bind(middleware),
    onText: onText && bindText(onText)
  }
}

function bindText(hook: TextHook): TextHook {
  const { hold, of, check } = hook
  return { hold, ...defined({ of }), check: check.bind(hook) }
}

const BlockSchema = Type.Object(
  {
    action: Type.Literal('block'),
    reason: Type.Optional(Type.String({ maxLength: 512 })),
    answer: Type.Optional(Type.String({ pattern: String.raw`\S` })),
    note: Type.Optional(Type.String({ maxLength: 4_096 }))
  } satisfies Record<keyof Block, unknown>,
  { additionalProperties: false }
)

/** The error of a run that a middleware has blocked. */
export function toBlockedError({ reason = 'The run was stopped by a rule of this service' }: Block): Error {
  return new RUN_ERR_BLOCKED(reason)
}

/** True if the answer of a hook is meant as a block. */
export function isBlock(answer: unknown): boolean {
  return (answer as Partial<Block> | null | undefined)?.action === 'block'
}

/** A copy of a block, as well-formed text. @throws RUN_ERR_BAD_MIDDLEWARE */
export function readBlock(answer: unknown): Block {
  requireOptions(BlockSchema, answer, prefixedError('block', RUN_ERR_BAD_MIDDLEWARE))
  const { reason, answer: said, note } = answer as Block
  return {
    action: 'block',
    ...defined({
      reason: reason?.toWellFormed(),
      answer: said?.toWellFormed(),
      note: note?.toWellFormed()
    })
  }
}
