import type { NumberedPart, Part, PartError, PartOf } from '@svc/contract'

/** A part as a stream has it: a transient one has no `seq`; those of sessions name their run. */
export type StreamedPart = Part & Partial<Pick<NumberedPart, 'seq' | 'at'>> & { runId?: string }

interface Common {
  /** Unique within the run, and stable. */
  readonly id: string
  /** The member or step that it is of; empty for the run itself. */
  readonly source: readonly string[]
  /** When its first part was written, in milliseconds since the epoch. */
  readonly at: number
}

/** Text of an answer, or of a model's reasoning, as far as it has come; `heard` is what the user has said in a call. */
export interface TextItem extends Common {
  readonly kind: 'text' | 'reasoning' | 'heard'
  readonly text: string
  /** The user has interrupted the answer: the text is what was spoken of it. */
  readonly isCut?: boolean
}

/** A call of a tool, with what became of it. */
export interface ToolItem extends Common {
  readonly kind: 'tool'
  readonly toolCallId: string
  readonly toolName: string
  readonly parentToolCallId: string | undefined
  /** The visitor may serve it. */
  readonly isOfClient: boolean
  /** The JSON of the arguments as far as it has come; empty once they are complete. */
  readonly draft: string
  readonly args: unknown
  readonly state: 'drafted' | 'called' | 'done' | 'failed'
  readonly result: unknown
  readonly error: { readonly code: string; readonly message: string } | undefined
  readonly durationMs: number | undefined
  readonly approval: Approval | undefined
}

/** Identifies a call within its run: models number their calls, so that those of two members may have the same id. */
export const idOfCall = ({ source = [], toolCallId }: { source?: readonly string[]; toolCallId: string }) =>
  source.length === 0 ? toolCallId : JSON.stringify([...source, toolCallId])

/** An approval that a call waits for, or its answer. */
export interface Approval {
  readonly approvalId: string
  readonly args: unknown
  readonly expiresAt: string
  readonly answer: { readonly approved: boolean; readonly reason?: string | undefined } | undefined
}

/** A question, a client tool or a request for credentials. */
export interface InputItem extends Common {
  readonly kind: 'input'
  readonly request: PartOf<'input.request'>
  readonly response: PartOf<'input.response'> | undefined
}

/** A part that stands for itself. */
export interface PartItem extends Common {
  readonly kind: 'file' | 'citation' | 'data' | 'structured' | 'page' | 'steer' | 'compaction'
  readonly part: PartOf<'file' | 'citation' | 'data' | 'structured' | 'browser.page' | 'compaction'>
}

/** The error of a run, or of a member. */
export interface ErrorItem extends Common {
  readonly kind: 'error'
  readonly error: PartError
}

/** What a run has to show, in the order in which it began. */
export type RunItem = TextItem | ToolItem | InputItem | PartItem | ErrorItem
