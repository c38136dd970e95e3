import type { RunMetadata, Usage } from '@svc/contract'
import type { OutputItem } from './response-items.ts'

/** The states of a response. */
export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

/** What is known of a response, apart from what the protocol always has. */
export interface ResponseState {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created_at: number
  readonly completed_at: number | null
  readonly status: ResponseStatus
  readonly model: string
  readonly previous_response_id: string | null
  readonly conversation: { readonly id: string } | null
  readonly output: readonly OutputItem[]
  readonly usage: ResponseUsage | null
  /** With the fields of an error body, which some clients require. */
  readonly error: {
    readonly type: string
    readonly code: string
    readonly message: string
    readonly param: null
  } | null
  readonly incomplete_details: { readonly reason: string } | null
  readonly metadata: RunMetadata
}

/** A response, as JSON and in events. */
export interface ResponseObject extends ResponseState {
  readonly object: 'response'
  readonly [parameter: string]: unknown
}

/** What a request asked for, as its response repeats it. */
export interface ResponseParameters {
  readonly metadata?: RunMetadata
  readonly previous_response_id?: string
  readonly [parameter: string]: unknown
}

const DEFAULTS: ResponseParameters = Object.freeze({
  background: false,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  parallel_tool_calls: true,
  tools: [],
  tool_choice: 'auto',
  text: { format: { type: 'text' } },
  truncation: 'disabled',
  reasoning: null,
  temperature: 1,
  top_p: 1,
  top_logprobs: 0,
  presence_penalty: 0,
  frequency_penalty: 0,
  store: true,
  service_tier: 'default',
  user: null,
  safety_identifier: null,
  prompt_cache_key: null
})

/** The whole object of a response; what its request did not say has its default. */
export function toResponseObject(
  { id, ...state }: ResponseState,
  parameters?: ResponseParameters
): ResponseObject {
  return { id, object: 'response', ...DEFAULTS, ...state, ...parameters }
}

const PLAIN = encodeMembers(DEFAULTS)

/** The JSON of what the request of a response determines, for all of its events. */
export function encodeParameters(parameters: ResponseParameters = {}): string {
  const { metadata: _, previous_response_id: __, ...own } = parameters
  return Object.keys(own).length === 0 ? PLAIN : encodeMembers({ ...DEFAULTS, ...own })
}

function encodeMembers(parameters: ResponseParameters): string {
  return JSON.stringify(parameters).slice(1, -1)
}

/** The JSON of `toResponseObject`, whose parameters are encoded already. */
export function encodeResponse(state: ResponseState, parameters: string): string {
  const json = JSON.stringify(state)
  const end = '{"id":'.length + JSON.stringify(state.id).length
  return `${json.slice(0, end)},"object":"response",${parameters}${json.slice(end)}`
}

/** The tokens of a response. */
export interface ResponseUsage {
  readonly input_tokens: number
  readonly input_tokens_details: { readonly cached_tokens: number }
  readonly output_tokens: number
  readonly output_tokens_details: { readonly reasoning_tokens: number }
  readonly total_tokens: number
}

/** The tokens between two counts of a run. */
export function toResponseUsage(until: Usage, since: Usage): ResponseUsage {
  const difference = (of: (usage: Usage) => number | undefined) =>
    Math.max(0, (of(until) ?? 0) - (of(since) ?? 0))
  return {
    input_tokens: difference((usage) => usage.promptTokens),
    input_tokens_details: { cached_tokens: difference((usage) => usage.cachedPromptTokens) },
    output_tokens: difference((usage) => usage.completionTokens),
    output_tokens_details: { reasoning_tokens: difference((usage) => usage.reasoningTokens) },
    total_tokens: difference((usage) => usage.totalTokens)
  }
}
