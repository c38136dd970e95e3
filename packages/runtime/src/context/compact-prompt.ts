import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt
} from '@ai-sdk/provider'
import {
  addUsage,
  codeOf,
  defined,
  ZERO_USAGE,
  type CompactionReason,
  type PartOf,
  type PartSink,
  type Usage
} from '@svc/contract'
import type { RunGuard } from '../guards/guard.ts'
import type { ModelHost } from '../models/call-report.ts'
import type { CompactPlan, HistoryPlan } from '../sessions/history.ts'
import type { Turn } from '../sessions/turn.ts'
import type { ContextWindow, PastMessages } from './context-window.ts'
import { estimateTokens, tokensOfMessage, tokensOfTools } from './estimate-tokens.ts'
import {
  droppedMessages,
  keptMessages,
  planCompaction,
  type CompactionPlaces,
  type KeptMessage
} from './plan-compaction.ts'
import { writeSummary } from './write-summary.ts'

/** The prompt of a turn that is too long. */
export interface LongPrompt {
  readonly reason: CompactionReason
  /** The step that follows. */
  readonly index: number
  readonly turn: Turn
  /** The place of the message to be answered. */
  readonly asked: number
  /** The call that it is too long for. */
  readonly call: Pick<LanguageModelV4CallOptions, 'prompt' | 'tools' | 'maxOutputTokens'>
  readonly model: LanguageModelV4
  readonly past: PastMessages
}

/** The run of the prompt. */
export interface CompactionHost extends Pick<ModelHost, 'context' | 'events' | 'retry'> {
  readonly history: HistoryPlan
  readonly window: ContextWindow
  readonly guard: RunGuard
}

/** A compaction as the journal of a run keeps it. */
export interface Compaction {
  readonly part: PartOf<'compaction'>
  readonly asked: number
  readonly places: CompactionPlaces
  /** The new summary. */
  readonly text?: string
}

const SUMMARY_TIMEOUT = 60_000

/**
 * Compacts a prompt: old results of tools keep their ends, and if that is not enough a model summarises the oldest messages. Without a
 * summary they are left out too. Returns undefined if nothing can be left out.
 * @throws the reason why the run must end, the error of the sink
 */
export async function compactPrompt(
  long: LongPrompt,
  host: CompactionHost,
  sink: PartSink
): Promise<Compaction | undefined> {
  const { reason, index, turn, asked, call, model, past } = long
  const { history, window, context, events } = host
  const { compact, countTokens, maxMessages } = history
  if (compact === undefined) return undefined
  const { prompt } = turn
  const before = window.count(call, model)
  const scale = before / Math.max(1, estimateTokens(call.prompt, { tools: call.tools, countTokens }))
  const tokensOf = (message: LanguageModelV4Message) => tokensOfMessage(message, countTokens) * scale
  const ofTools = tokensOfTools(call.tools, countTokens) * scale
  const places = planCompaction({
    prompt,
    asked,
    fixed: ofTools + compact.maxSummary,
    target: window.targetFor(call, model, past, reason === 'overflow' ? before : Infinity),
    keep: Math.min(compact.keep, Math.floor(maxMessages / 2)),
    cutsResults: compact.cutsResults,
    mustDrop: reason === 'asked' || past.pastMessages > maxMessages,
    tokensOf
  })
  if (places === undefined) return undefined
  const dropped = droppedMessages(prompt, asked, places)
  const written =
    dropped.length === 0
      ? undefined
      : await summarise(dropped, { tokens: before, scale }, long, host, compact, sink)
  const text = context.redact(written?.text)
  const kept = keptMessages(prompt, asked, places)
  const left = kept.reduce((sum, { message }) => sum + tokensOf(message), ofTools)
  const part: PartOf<'compaction'> = {
    type: 'compaction',
    index,
    reason,
    before: Math.round(before),
    after: Math.round(left + (text === undefined ? 0 : tokensOf({ role: 'system', content: text }))),
    messages: turn.sizeOf(0, prompt.length) - kept.reduce((sum, { at }) => sum + turn.sizeOf(at, at + 1), 0),
    keeps: turn.keptBy(asked, places),
    cut: countCut(prompt, kept),
    ...defined({ text: context.recordsInput ? text : undefined }),
    ...defined({ model: written?.model, usage: written?.usage })
  }
  const { messages, cut, after, usage } = part
  events.emit('context.compacted', () => ({
    step: index,
    reason,
    before: part.before,
    after,
    messages,
    cut,
    summarised: text !== undefined,
    ...defined({ usage })
  }))
  return { part, asked, places, ...defined({ text }) }
}

/** Leaves out of the prompt of a turn what a compaction says. Returns the new prompt up to the message to be answered. */
export function applyCompaction(turn: Turn, { asked, places, text }: Compaction): LanguageModelV4Prompt {
  const kept = keptMessages(turn.prompt, asked, places)
  turn.compact(asked, places, kept, text)
  const steps = kept.filter(({ at }) => at > asked).length
  return turn.prompt.slice(0, turn.prompt.length - steps)
}

function countCut(prompt: LanguageModelV4Prompt, kept: readonly KeptMessage[]): number {
  let cut = 0
  for (const { at, message } of kept) {
    const { content } = prompt[at]!
    if (message.role === 'tool')
      cut += message.content.filter((part, index) => part !== content[index]).length
  }
  return cut
}

/** What came of the calls for a summary. */
interface Written {
  /** Undefined if none was written. */
  readonly text?: string | undefined
  readonly model?: PartOf<'compaction'>['model']
  readonly usage?: Usage | undefined
}

async function summarise(
  messages: LanguageModelV4Prompt,
  { tokens, scale }: { readonly tokens: number; readonly scale: number },
  { turn, asked: place, model: own, index, reason }: LongPrompt,
  host: CompactionHost,
  { instructions, maxSummary, resolveModel }: CompactPlan,
  sink: PartSink
): Promise<Written> {
  const { window, context, guard } = host
  await sink({ type: 'data', name: 'compaction', value: { before: Math.round(tokens) }, transient: true })
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new Error('the summary took over 60 seconds')), SUMMARY_TIMEOUT)
  let usage: Usage | undefined
  let chosen: Written['model']
  try {
    const signal = AbortSignal.any([guard.signal, late.signal])
    const model = (await resolveModel?.(context)) ?? own
    const { provider, modelId } = model
    chosen = { provider, modelId }
    const { summary: before, prompt } = turn
    const asked = prompt[place]?.role === 'user' ? prompt[place] : undefined
    // Not every provider that refuses a prompt tells how long it may be.
    const size = Math.min(window.sizeFor(model), reason === 'overflow' ? tokens : Infinity)
    const text = await writeSummary({
      host,
      model,
      index,
      before,
      messages,
      asked,
      instructions,
      maxTokens: maxSummary,
      window: size / Math.max(1, scale),
      signal,
      onUsage: (each) => (usage = addUsage(usage ?? ZERO_USAGE, each))
    })
    return { text, model: chosen, usage }
  } catch (err) {
    guard.check()
    const { runId, log } = context
    const fault = late.signal.aborted ? { timeout: SUMMARY_TIMEOUT } : { code: codeOf(err) }
    log.warn({ runId, step: index, ...fault }, 'no summary was written: messages are left out without one')
    return usage === undefined ? {} : { model: chosen, usage }
  } finally {
    clearTimeout(timer)
  }
}
