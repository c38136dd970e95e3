/** A source of a text, or a file that belongs to it. */
export interface UrlCitation {
  readonly type: 'url_citation'
  readonly url: string
  readonly title: string
  readonly start_index: number
  readonly end_index: number
}

/** The text of a message. */
export interface OutputText {
  type: 'output_text'
  text: string
  annotations: UrlCitation[]
  logprobs: []
}

/** How far an item has come; `incomplete` also if its step was repeated. */
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** What a message is to the answer: `commentary` beside calls of tools, or the answer itself. */
export type MessagePhase = 'commentary' | 'final_answer'

/** What the agent says. */
export interface MessageItem {
  type: 'message'
  id: string
  status: ItemStatus
  role: 'assistant'
  /** Absent while it is under way, since calls may follow, and where it was broken off. */
  phase?: MessagePhase
  content: OutputText[]
}

/** What the model thinks, as far as its provider shows it. */
export interface ReasoningItem {
  type: 'reasoning'
  id: string
  status: ItemStatus
  summary: []
  content: { type: 'reasoning_text'; text: string }[]
}

/** A call of a tool that the client serves, or a question for it. */
export interface FunctionCallItem {
  type: 'function_call'
  id: string
  status: ItemStatus
  call_id: string
  name: string
  arguments: string
}

/** A call of a tool that the service executes, with its outcome. */
export interface McpCallItem {
  type: 'mcp_call'
  id: string
  status: ItemStatus | 'failed'
  /** The approval that the call waited for. */
  approval_request_id: string | null
  server_label: string
  name: string
  arguments: string
  output: string | null
  error: string | null
}

/** A call that waits for an approval. */
export interface ApprovalRequestItem {
  type: 'mcp_approval_request'
  id: string
  server_label: string
  name: string
  arguments: string
}

/** An item of the output of a response. */
export type OutputItem = MessageItem | ReasoningItem | FunctionCallItem | McpCallItem | ApprovalRequestItem
