import type { OutputItem, OutputText, UrlCitation } from './response-items.ts'
import type { ResponseObject } from './response-object.ts'

/** An event about the response as a whole. */
export interface LifecycleEvent {
  readonly type:
    | 'response.created'
    | 'response.queued'
    | 'response.in_progress'
    | 'response.completed'
    | 'response.incomplete'
    | 'response.failed'
  readonly response: ResponseObject
}

interface AtItem {
  readonly item_id: string
  readonly output_index: number
}
interface AtContent extends AtItem {
  readonly content_index: 0
}
type Content = OutputText | { readonly type: 'reasoning_text'; readonly text: string }

/** An event about an item of the output. */
export type ItemEvent =
  | {
      readonly type: 'response.output_item.added' | 'response.output_item.done'
      readonly output_index: number
      readonly item: OutputItem
    }
  | (AtContent & {
      readonly type: 'response.content_part.added' | 'response.content_part.done'
      readonly part: Content
    })
  | (AtContent & {
      readonly type: 'response.output_text.delta'
      readonly delta: string
      readonly logprobs: []
    })
  | (AtContent & { readonly type: 'response.output_text.done'; readonly text: string; readonly logprobs: [] })
  | (AtContent & {
      readonly type: 'response.output_text.annotation.added'
      readonly annotation_index: number
      readonly annotation: UrlCitation
    })
  | (AtContent & { readonly type: 'response.reasoning_text.delta'; readonly delta: string })
  | (AtContent & { readonly type: 'response.reasoning_text.done'; readonly text: string })
  | (AtItem & { readonly type: 'response.function_call_arguments.delta'; readonly delta: string })
  | (AtItem & {
      readonly type: 'response.function_call_arguments.done'
      readonly name: string
      readonly arguments: string
    })
  | (AtItem & {
      readonly type:
        | 'response.mcp_call.in_progress'
        | 'response.mcp_call.completed'
        | 'response.mcp_call.failed'
    })
  | (AtItem & { readonly type: 'response.mcp_call_arguments.delta'; readonly delta: string })
  | (AtItem & { readonly type: 'response.mcp_call_arguments.done'; readonly arguments: string })

/** An event of a stream, with its number. */
export type ResponseEvent = (LifecycleEvent | ItemEvent) & { readonly sequence_number: number }
