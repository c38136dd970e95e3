import type { PartError } from '@svc/contract'
import { OPENAI_ERR_BAD_REQUEST } from '../errors.ts'
import type { GivenTool } from '../wire/client-tools.ts'
import type {
  Annotation,
  ChatFinishReason,
  Completion,
  CompletionBody,
  CompletionUsage,
  Delta,
  ToolCall
} from './completion-schemas.ts'

/** The tools of a request, in the shape of those of Responses. */
export interface GivenTools {
  readonly tools: readonly GivenTool[]
  readonly choice: unknown
  /** True if the client calls them functions, as before there were tools: then an answer has one `function_call`. */
  readonly areFunctions: boolean
  /**
   * True if the run ends with its first call of the client. The call of a function has no id, so that no request could answer it; and the
   * call of the one tool that a request names is mostly all that its client asks for, as an output in the shape of arguments.
   */
  readonly endsAtCall: boolean
}

/** Reads the tools of a request, or its functions. @throws OPENAI_ERR_BAD_REQUEST */
export function readTools(body: CompletionBody): GivenTools {
  const { tools, functions, tool_choice: choice, function_call: called } = body
  if (!functions?.length) {
    const given = tools?.map(({ type, function: call }) => ({ type, ...call })) ?? []
    return { tools: given, choice, areFunctions: false, endsAtCall: isOneOf(given, choice) }
  }
  if (tools?.length) throw new OPENAI_ERR_BAD_REQUEST('tools and functions exclude each other')
  const isNamed = typeof called === 'object' && called !== null
  return {
    tools: functions.map((each) => ({ type: 'function', ...each })),
    choice: isNamed ? { type: 'function', ...called } : called,
    areFunctions: true,
    endsAtCall: true
  }
}

function isOneOf(tools: readonly GivenTool[], choice: unknown): boolean {
  if (typeof choice !== 'object' || choice === null || !('function' in choice)) return false
  const { function: named } = choice as { function?: { name?: unknown } | null }
  return tools.some(({ name }) => name !== undefined && name === named?.name)
}

/** The calls of an answer, as its client expects them. Of functions, an answer has one call only. */
function toCallFields(
  calls: readonly ToolCall[],
  areFunctions: boolean
): { tool_calls?: ToolCall[]; function_call?: ToolCall['function'] } {
  const [first] = calls
  if (first === undefined) return {}
  return areFunctions ? { function_call: first.function } : { tool_calls: [...calls] }
}

/** As `toCallFields`, in a stream. */
export function toCallDelta(calls: readonly ToolCall[], areFunctions: boolean): Delta {
  const { tool_calls: tools, ...fields } = toCallFields(calls, areFunctions)
  return { ...fields, ...(tools && { tool_calls: tools.map((call, index) => ({ index, ...call })) }) }
}

/** Collects a completion from its events, without what is void. */
export class CompletionMessage {
  #texts: string[] = []
  #reasoning: string[] = []
  #end: EndEvent | undefined
  #error: Pick<PartError, 'code' | 'message'> | undefined

  /** Why the run failed, if it did. */
  get error(): Pick<PartError, 'code' | 'message'> | undefined {
    return this.#error
  }

  add(event: CompletionEvent): void {
    switch (event.type) {
      case 'begin':
        this.#texts = []
        this.#reasoning = []
        this.#end = undefined
        break
      case 'text':
        this.#texts.push(event.text)
        break
      case 'reasoning':
        this.#reasoning.push(event.text)
        break
      case 'void':
        this.#texts = [this.#texts.join('').slice(0, event.kept)]
        this.#reasoning = [this.#reasoning.join('').slice(0, event.keptReasoning)]
        break
      case 'end':
        this.#end = event
        break
      case 'fail':
        this.#error = event.error
    }
  }

  /** The completion; undefined before its end. */
  build({ id, created, model }: Pick<Completion, 'id' | 'created' | 'model'>): Completion | undefined {
    if (this.#end === undefined) return undefined
    const { reason, calls, annotations, usage } = this.#end
    const text = this.#texts.join('')
    const reasoning = this.#reasoning.join('')
    const message: Completion['choices'][number]['message'] = {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : text,
      refusal: null,
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      annotations: [...annotations],
      ...toCallFields(calls, reason === 'function_call')
    }
    const choice = { index: 0, message, logprobs: null, finish_reason: reason } as const
    return { id, object: 'chat.completion', created, model, choices: [choice], usage }
  }
}

/** A text that is added to the answer, or to the reasoning. */
export interface TextEvent {
  readonly type: 'text' | 'reasoning'
  readonly text: string
}

/** Of the answer and of the reasoning only the first characters count. */
export interface VoidEvent {
  readonly type: 'void'
  readonly kept: number
  readonly keptReasoning: number
}

/** The end of a completion. */
export interface EndEvent {
  readonly type: 'end'
  readonly reason: ChatFinishReason
  readonly calls: readonly ToolCall[]
  readonly annotations: readonly Annotation[]
  readonly usage: CompletionUsage
}

/** What happens to a completion, in order. */
export type CompletionEvent =
  | { readonly type: 'begin' }
  | TextEvent
  | VoidEvent
  | EndEvent
  | { readonly type: 'fail'; readonly error: Pick<PartError, 'code' | 'message'> }
