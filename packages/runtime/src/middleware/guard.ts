import { Type } from '@sinclair/typebox'
import {
  defined,
  functionSchema,
  millisecondsSchema,
  requireOptions,
  type Awaitable,
  type RunContext,
  type RunInput
} from '@svc/contract'
import { prefixedError } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_MIDDLEWARE } from '../errors.ts'
import {
  ENFORCEMENT,
  HoldSchema,
  isBlock,
  readBlock,
  type Block,
  type Enforcement,
  type MessageState,
  type Middleware,
  type TextHold,
  type TextHook
} from './middleware.ts'

/** What a guard says to a text. */
export type Verdict =
  | { readonly action: 'allow' }
  /** Another text in the place of the one that was checked. */
  | { readonly action: 'replace'; readonly text: string }
  | Block

/** A text to be checked. */
export interface GuardState {
  readonly on: 'input' | 'output' | 'reasoning'
  /** All of the text so far. */
  readonly text: string
  /** What of it is to be checked now; a verdict is about it. */
  readonly held: string
  /** True if no more text follows. */
  readonly final: boolean
  readonly context: RunContext
  /** Aborts when the run ends, or the time of the check is out. */
  readonly signal: AbortSignal
}

/** The options of a guard. */
export interface GuardOptions {
  /** 1–64 letters, digits, `_`, `.` and `-`. */
  name: string
  /**
   * What it checks. `input`: what the run is asked, and messages that join it. `output`, `reasoning`: what models say, which passes only
   * once it is checked.
   */
  on: readonly GuardState['on'][]
  /** Checks a text; to return nothing allows it. */
  check: (state: GuardState) => Awaitable<Verdict | void>
  /** As of `TextHook`, for what models say; default `sentence`. */
  hold?: TextHold
  /** `audit`: verdicts are reported as `guard` parts, and change nothing; no text is held. Default `enforce`. */
  mode?: 'enforce' | 'audit'
  /** What a check that throws or takes too long does; default `block`: the run fails with RUN_ERR_GUARD_FAILED. */
  onError?: 'block' | 'allow'
  /** Milliseconds of one check; default 10,000. */
  timeout?: number
}

const GuardOptionsSchema = Type.Object(
  {
    name: Type.String(),
    on: Type.Array(Type.Union([Type.Literal('input'), Type.Literal('output'), Type.Literal('reasoning')]), {
      minItems: 1,
      uniqueItems: true
    }),
    check: functionSchema(),
    hold: Type.Optional(HoldSchema),
    mode: Type.Optional(Type.Union([Type.Literal('enforce'), Type.Literal('audit')])),
    onError: Type.Optional(Type.Union([Type.Literal('block'), Type.Literal('allow')])),
    timeout: Type.Optional(millisecondsSchema('Of one check; default 10,000'))
  },
  { additionalProperties: false }
)

/**
 * A middleware that checks texts. It fails closed: without a verdict nothing passes.
 * @throws RUN_ERR_BAD_MIDDLEWARE
 */
export function guard(options: GuardOptions): Middleware {
  requireOptions(GuardOptionsSchema, options, prefixedError('guard', RUN_ERR_BAD_MIDDLEWARE))
  const { name, on, check, hold = 'sentence', mode = 'enforce', onError = 'block', timeout } = options
  const audits = mode === 'audit'
  const enforcement: Enforcement = { audits, failsOpen: audits || onError === 'allow' }
  const of = on.flatMap((point) => (point === 'input' ? [] : [TEXTS[point]]))
  const middleware: Middleware & { [ENFORCEMENT]: Enforcement } = {
    name,
    ...defined({ timeout }),
    [ENFORCEMENT]: enforcement,
    ...(on.includes('input') && {
      async beforeRun({ input, text, context, signal }: MessageState) {
        const verdict = await check({ on: 'input', text, held: text, final: true, context, signal })
        return toMessageAnswer(verdict, input)
      }
    }),
    ...(of.length > 0 && { onText: { hold, of, check: checkText(check) } })
  }
  return middleware
}

const TEXTS = { output: 'text', reasoning: 'reasoning' } as const

function checkText(check: GuardOptions['check']): TextHook['check'] {
  return ({ of, text, held, final, context, signal }) =>
    check({ on: of === 'text' ? 'output' : 'reasoning', text, held, final, context, signal })
}

function toMessageAnswer(verdict: Verdict | void, input: RunInput): { input: RunInput } | Block | undefined {
  const read = readVerdict(verdict)
  if (read === undefined || read.action === 'block') return read
  return { input: withText(input, read.text) }
}

/** Reads a verdict that changes something. @throws RUN_ERR_BAD_MIDDLEWARE */
export function readVerdict(verdict: unknown): { action: 'replace'; text: string } | Block | undefined {
  if (verdict === undefined) return undefined
  if (isBlock(verdict)) return readBlock(verdict)
  const { action, text } = Object(verdict) as { action?: unknown; text?: unknown }
  if (action === 'allow') return undefined
  if (action === 'replace' && typeof text === 'string') return { action, text: text.toWellFormed() }
  throw new RUN_ERR_BAD_MIDDLEWARE('expected a verdict: allow, replace with a text, or block')
}

// The first text of a list has the whole text, the others go; files stay.
function withText(input: RunInput, text: string): RunInput {
  if (typeof input === 'string') return text
  if (!Array.isArray(input))
    throw new RUN_ERR_BAD_MIDDLEWARE('replace: the input is no message; return another one from `beforeRun`')
  const others = input.filter((part: { type?: unknown }) => part.type !== 'text')
  const at = input.findIndex((part: { type?: unknown }) => part.type === 'text')
  return others.toSpliced(Math.max(at, 0), 0, { type: 'text', text })
}
