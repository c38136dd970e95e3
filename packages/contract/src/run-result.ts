import { Type, type Static } from '@sinclair/typebox'
import { PendingApprovalSchema, PendingInputSchema } from './inputs.ts'
import { beginningOf, defined, encodePieces } from './json.ts'
import { RunnableKindSchema } from './names.ts'
import {
  addUsage,
  FinishReasonSchema,
  PART_SCHEMAS,
  PartErrorSchema,
  RunMetadataSchema,
  ToolErrorSchema,
  UsageSchema,
  ZERO_USAGE,
  type FinishReason,
  type NumberedPart,
  type Part,
  type PartOf,
  type Usage
} from './part.ts'
import { ToolCallList, VoidableList } from './run-calls.ts'

/** The length of a preview in characters. */
export const PREVIEW = 256

/** One tool call of a run, with its outcome. */
const ToolCallSchema = Type.Object(
  {
    toolCallId: Type.String(),
    toolName: Type.String(),
    parentToolCallId: Type.Optional(Type.String()),
    args: Type.Unknown(),
    result: Type.Optional(Type.Unknown()),
    error: Type.Optional(ToolErrorSchema),
    durationMs: Type.Number({ description: 'Milliseconds; 0 for a call that was not executed' }),
    source: Type.Optional(Type.Array(Type.String()))
  },
  { title: 'ToolCall' }
)
export type ToolCall = Static<typeof ToolCallSchema>

/** One file of a run, as its `file` part describes it. */
export const RunFileSchema = Type.Omit(PART_SCHEMAS.file, ['type'], { title: 'RunFile' })
export type RunFile = Static<typeof RunFileSchema>

/** The result of a run that did not fail. */
export const RunResultSchema = Type.Object(
  {
    text: Type.String(),
    toolCalls: Type.Array(ToolCallSchema),
    files: Type.Optional(Type.Array(RunFileSchema, { description: 'Absent if the run made none' })),
    usage: UsageSchema,
    structured: Type.Unknown({ description: 'null if there is none' }),
    durationMs: Type.Number({ description: 'Milliseconds' }),
    runId: Type.String(),
    sessionId: Type.String(),
    finishReason: FinishReasonSchema
  },
  { title: 'RunResult' }
)
export type RunResult = Static<typeof RunResultSchema>

/** What a run took, kept beside its result so that lists need not read results. */
export interface RunStats {
  /** Tokens of all its steps, also those of void attempts. */
  readonly usage: Usage
  /** Milliseconds from its first model call that said when, to the first token of that call. */
  readonly firstTokenMs?: number
}

/**
 * Folds parts, in order, into a result. Every result is built here.
 *
 * `text` joins the text parts without `source` after the last `step.start`, or all of them if there is none. A `voice.turn` replaces
 * them by what was spoken, so that the text of a call is that of its last turn. Tool calls, files and the structured value of a void
 * attempt are dropped; its tokens were used and count.
 */
export class RunResultBuilder {
  #runId = ''
  #sessionId = ''
  // Joined when it is read: a string that grows by concatenation keeps every increment in memory.
  #texts: string[] = []
  // The next text begins another turn of a call.
  #isTurnOver = false
  #structured: unknown = null
  #usage: Usage = ZERO_USAGE
  #firstTokenMs: number | undefined
  #finish: PartOf<'finish'> | undefined
  // The value before the step under way.
  #structuredBefore: unknown = null
  #toolCalls: ToolCallList<ToolCall> | undefined
  #files: VoidableList<RunFile> | undefined

  add(part: Part): void {
    switch (part.type) {
      case 'text':
        if (part.source?.length) break
        if (this.#isTurnOver) this.#beginText([])
        this.#texts.push(part.text)
        break
      case 'voice.turn':
        if (part.source?.length) break
        this.#beginText([part.text])
        this.#isTurnOver = true
        break
      case 'step.start':
        this.#toolCalls?.begin(part)
        this.#files?.begin(part)
        if (!part.source?.length) this.#beginStep(part)
        break
      case 'step':
        this.#usage = addUsage(this.#usage, part.usage)
        this.#firstTokenMs ??= part.firstTokenMs
        break
      case 'compaction':
        this.#usage = addUsage(this.#usage, part.usage)
        break
      case 'start':
        if (part.source?.length) break
        this.#runId = part.runId
        this.#sessionId = part.sessionId
        break
      case 'finish':
        this.#toolCalls?.finish(part)
        this.#files?.finish(part)
        if (!part.source?.length) this.#finish = part
        break
      case 'structured':
        if (!part.source?.length) this.#structured = part.value ?? null
        break
      case 'file':
        this.#files ??= new VoidableList()
        this.#files.add(part, toRunFile(part))
        break
      case 'voice.audio':
        this.#files ??= new VoidableList()
        this.#files.add(part, fileOfAudio(part))
        break
      default:
        this.#addToolPart(part)
    }
  }

  #beginStep({ attempt }: PartOf<'step.start'>): void {
    this.#beginText([])
    if (attempt > 1) this.#structured = this.#structuredBefore
    else this.#structuredBefore = this.#structured
  }

  #beginText(texts: string[]): void {
    this.#texts = texts
    this.#isTurnOver = false
  }

  get #text(): string {
    if (this.#texts.length > 1) this.#texts = [this.#texts.join('')]
    return this.#texts[0] ?? ''
  }

  #addToolPart(part: Part): void {
    if (part.type === 'tool.call') {
      const { toolCallId, toolName, parentToolCallId, args, source } = part
      this.#toolCalls ??= new ToolCallList()
      this.#toolCalls.add(part, {
        toolCallId,
        toolName,
        ...defined({ parentToolCallId, source }),
        args,
        durationMs: 0
      })
      return
    }
    if (part.type !== 'tool.result' && part.type !== 'tool.error' && part.type !== 'tool.approval.response')
      return
    const call = this.#toolCalls?.find(part)
    if (call === undefined) return
    if (part.type === 'tool.error') call.error = part.error
    else if (part.type === 'tool.approval.response') {
      if (part.args !== undefined) call.args = part.args
    } else {
      call.result = part.result
      call.durationMs = part.durationMs
    }
  }

  /** Tokens of the steps seen so far. */
  get usage(): Usage {
    return this.#usage
  }

  /** What the run took so far; after the `finish` with its usage. */
  get stats(): RunStats {
    const usage = this.#finish?.usage ?? this.#usage
    const firstTokenMs = this.#firstTokenMs
    return firstTokenMs === undefined ? { usage } : { usage, firstTokenMs }
  }

  /** The last `structured` value seen, else null. */
  get structured(): unknown {
    return this.#structured
  }

  /** The beginning of the result so far: of its text, else of the JSON of `structured`. */
  get preview(): string {
    const structured = this.#finish?.structured ?? this.#structured
    const text = this.#text
    if (text !== '' || structured === null) return beginningOf(text, PREVIEW)
    const [json = ''] = encodePieces(structured)
    return beginningOf(json, PREVIEW)
  }

  /** The result so far. Before the `finish`: `finishReason: 'other'`, the usage of the steps, and no duration. */
  build(): RunResult {
    const finish = this.#finish
    const files = this.#files?.values ?? []
    return {
      text: this.#text,
      toolCalls: this.#toolCalls?.values ?? [],
      ...(files.length > 0 && { files }),
      usage: finish?.usage ?? this.#usage,
      structured: finish?.structured ?? this.#structured,
      durationMs: finish?.durationMs ?? 0,
      runId: this.#runId,
      sessionId: this.#sessionId,
      finishReason: finish?.finishReason ?? ('other' satisfies FinishReason)
    }
  }
}

/** The file of spoken audio: the `speech` of an answer, or the `recording` of a user. */
export function fileOfAudio({
  role,
  fileId,
  mimeType,
  size,
  sha256,
  source
}: PartOf<'voice.audio'>): RunFile {
  const purpose = role === 'assistant' ? 'speech' : 'recording'
  return { fileId, mimeType, size, sha256, purpose, ...(source && { source }) }
}

// The place in the log belongs to the part alone.
function toRunFile(part: PartOf<'file'> & Partial<Pick<NumberedPart, 'seq' | 'at'>>): RunFile {
  const { type: _type, seq: _seq, at: _at, ...file } = part
  return file
}

/** Builds the result of a run from its parts. */
export async function collectRun(parts: Iterable<Part> | AsyncIterable<Part>): Promise<RunResult> {
  const builder = new RunResultBuilder()
  for await (const part of parts) builder.add(part)
  return builder.build()
}

/** States of a run, named as in A2A. The last three are terminal: no transition leaves them. */
export const RunStatusSchema = Type.Union(
  [
    Type.Literal('submitted'),
    Type.Literal('working'),
    Type.Literal('input-required'),
    Type.Literal('completed'),
    Type.Literal('failed'),
    Type.Literal('canceled')
  ],
  { title: 'RunStatus' }
)
export type RunStatus = Static<typeof RunStatusSchema>

/** True if no transition leaves this state. */
export function isTerminalStatus(status: RunStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'canceled'
}

/** A run as clients see it. Times are ISO 8601 in UTC. */
export const RunRecordSchema = Type.Object(
  {
    runId: Type.String(),
    kind: RunnableKindSchema,
    name: Type.String(),
    sessionId: Type.String(),
    status: RunStatusSchema,
    createdAt: Type.String({ format: 'date-time' }),
    updatedAt: Type.String({ format: 'date-time' }),
    queuePosition: Type.Optional(
      Type.Integer({
        description: 'The place among the waiting runs of the owner, from 1, while it is queued'
      })
    ),
    joined: Type.Optional(
      Type.Literal(true, {
        description: 'In the reply to a start: the message has joined this run, which was under way'
      })
    ),
    metadata: Type.Optional(RunMetadataSchema),
    result: Type.Optional(RunResultSchema),
    error: Type.Optional(PartErrorSchema),
    pendingApprovals: Type.Array(PendingApprovalSchema, { description: 'The first pending ones' }),
    pendingApprovalCount: Type.Integer({ description: 'The number of pending ones in all' }),
    pendingInputs: Type.Array(PendingInputSchema, { description: 'The first pending ones' }),
    pendingInputCount: Type.Integer({ description: 'The number of pending ones in all' })
  },
  { title: 'RunRecord' }
)
export type RunRecord = Static<typeof RunRecordSchema>
