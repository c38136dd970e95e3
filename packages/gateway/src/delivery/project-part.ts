import {
  beginningOf,
  encodePieces,
  isShort,
  type NumberedPart,
  type PartType,
  type RunFile,
  type RunnableKind
} from '@svc/contract'
import { previewOfJson, type TextEntry } from '@svc/contract/stores'
import type {
  ApprovalEvent,
  ChunkEvent,
  DoneEvent,
  ErrorEvent,
  InputEvent,
  PartEvent,
  PartialEvent,
  ResetEvent,
  SessionSuspendedEvent,
  SuspendedEvent,
  ToolCallEvent,
  ToolDoneEvent
} from '../events/server-events.ts'

/** Characters of arguments or output in one event; encoding more would block the event loop. */
const MAX_LENGTH = 1_048_576

/** An event of a run: its name and payload. */
export type ServerEvent =
  | [`${RunnableKind}.chunk`, ChunkEvent]
  | [`${RunnableKind}.tool.call`, ToolCallEvent]
  | [`${RunnableKind}.tool.done`, ToolDoneEvent]
  | [`${RunnableKind}.approval`, ApprovalEvent]
  | [`${RunnableKind}.input`, InputEvent]
  | [`${RunnableKind}.reset`, ResetEvent]
  | [`${RunnableKind}.part`, PartEvent]
  | [`${RunnableKind}.partial`, PartialEvent]
  | [`${RunnableKind}.done`, DoneEvent]
  | [`${RunnableKind}.error`, ErrorEvent]
  | ['run.suspended', SuspendedEvent]
  | ['session.suspended', SessionSuspendedEvent]

/** What the `finish` part of a run does not repeat. */
interface Output {
  readonly text: string
  readonly files?: RunFile[]
}

const NO_OUTPUT: Output = { text: '' }

/** The run of a part, and how much of the part clients may see. */
export interface Projection {
  readonly runId: string
  readonly kind: RunnableKind
  readonly exposeToolArgs: boolean
  /** True to project parts without an event of their own, too. */
  readonly parts: boolean
}

/**
 * Projects a part to its event; undefined for parts without one. It folds nothing: clients get what a step voids as a `reset`, and fold
 * the log themselves.
 * @param result the text and files of the run, for its last part
 */
export function projectPart(
  projection: Projection,
  part: NumberedPart,
  result?: Output
): ServerEvent | undefined {
  return (
    toNamedEvent(projection, part, result) ?? (projection.parts ? toPartEvent(projection, part) : undefined)
  )
}

const NAMED = new Set<string>([
  'text',
  'tool.call',
  'tool.result',
  'tool.error',
  'tool.approval.request',
  'input.request',
  'step.start',
  'error',
  'finish'
] satisfies PartType[])

/** True if parts of a type may have an event of their own. */
export function hasEvent(type: string): boolean {
  return NAMED.has(type)
}

/** Encodes what `projectPart` returns for the plain texts of a run. */
export class ChunkEncoder {
  readonly runId: string
  readonly #opening: string
  readonly #middle: string

  constructor({ runId, kind }: Pick<Projection, 'runId' | 'kind'>) {
    this.runId = runId
    this.#opening = `["${kind}.chunk",{"chunk":"`
    this.#middle = `","runId":${JSON.stringify(runId)},"seq":`
  }

  /** @param place members for the end of the payload, as JSON */
  encode({ text, seq }: TextEntry, place = ''): string {
    return `${this.#opening}${text}${this.#middle}${seq}${place}}]`
  }
}

function toPartEvent(
  { runId, kind, exposeToolArgs }: Projection,
  part: NumberedPart
): ServerEvent | undefined {
  const shown = exposeToolArgs ? part : withoutToolArgs(part)
  return shown && [`${kind}.part`, { runId, seq: part.seq, part: isShort(shown, MAX_LENGTH) ? shown : null }]
}

function withoutToolArgs(part: NumberedPart): NumberedPart | undefined {
  if (part.type === 'tool.call.delta') return undefined
  if (part.type !== 'tool.approval.response') return part
  const { args: _, ...shown } = part
  return shown
}

function toNamedEvent(
  { runId, kind, exposeToolArgs }: Projection,
  part: NumberedPart,
  result = NO_OUTPUT
): ServerEvent | undefined {
  const { seq, source } = part
  const place = source === undefined || source.length === 0 ? { runId, seq } : { runId, seq, source }
  switch (part.type) {
    case 'text':
      return [`${kind}.chunk`, { chunk: part.text, ...place }]
    case 'tool.call': {
      const args = exposeToolArgs && isShort(part.args, MAX_LENGTH) ? part.args : null
      return [`${kind}.tool.call`, { toolCallId: part.toolCallId, toolName: part.toolName, args, ...place }]
    }
    case 'tool.result':
    case 'tool.error':
      return [`${kind}.tool.done`, { toolCallId: part.toolCallId, ...place }]
    case 'tool.approval.request': {
      const { approvalId, toolName, args, expiresAt } = part
      return [`${kind}.approval`, { approvalId, toolName, ...toArgs(args), expiresAt, ...place }]
    }
    case 'input.request': {
      const { type: _, seq: __, at: ___, source: ____, args, ...request } = part
      return [`${kind}.input`, { ...request, ...(args !== undefined && toArgs(args)), ...place }]
    }
    case 'step.start':
      return part.attempt > 1 ? [`${kind}.reset`, { index: part.index, ...place }] : undefined
    case 'error': {
      // The error of a member does not end the run.
      const { code, message: error } = part.error
      return isOwn(part) ? [`${kind}.error`, { error, code, ...place }] : undefined
    }
    case 'finish': {
      const { usage, durationMs, finishReason } = part
      const output = { ...toOutput(result, part.structured), usage, durationMs, finishReason }
      return isOwn(part) ? [`${kind}.done`, { output, ...place }] : undefined
    }
    default:
      return undefined
  }
}

function toArgs(args: unknown): { args: unknown; argsPreview?: string } {
  if (isShort(args, MAX_LENGTH)) return { args }
  const [json = ''] = encodePieces(args)
  return { args: null, argsPreview: previewOfJson(json) }
}

function toOutput(
  { text, files }: Output,
  structured: unknown
): Output & { structured: unknown; truncated?: true } {
  const isWhole = isShort(structured, MAX_LENGTH)
  const hasFiles = files !== undefined && isShort(files, MAX_LENGTH)
  const isTruncated = text.length > MAX_LENGTH || !isWhole || (files !== undefined && !hasFiles)
  return {
    text: text.length > MAX_LENGTH ? beginningOf(text, MAX_LENGTH) : text,
    structured: isWhole ? structured : null,
    ...(hasFiles && { files }),
    ...(isTruncated && { truncated: true })
  }
}

function isOwn({ source }: NumberedPart): boolean {
  return source === undefined || source.length === 0
}
