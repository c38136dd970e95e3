import {
  addUsage,
  ZERO_USAGE,
  type PartSink,
  type PushedParts,
  type RunContext,
  type Runnable,
  type RunResult,
  type ToolCall,
  type YieldedPart
} from '@svc/contract'
import { RUN_ERR_CANCELED } from '@svc/contract/errors'
import { hasReport, ResultCollector, RunReport } from '@svc/registry/engine'
import { RUN_ERR_TEXT_VOID } from '../errors.ts'
import { isPushed, pushAll } from './pushed-parts.ts'

/** A run's result with a typed structured answer, null if the run ended without one, e.g. with `max-steps`, and typed tool calls. */
export interface TypedRunResult<Structured, Call = ToolCall> extends Omit<
  RunResult,
  'structured' | 'toolCalls'
> {
  structured: Structured | null
  toolCalls: Call[]
}

type Parts = AsyncGenerator<YieldedPart, void>

/** A part that was read from the run, and the one after it as soon as a reader asks for it. */
interface Link {
  readonly part?: YieldedPart
  next?: Promise<Link | undefined>
}

/**
 * A run under way, in three views: its parts, which it iterates, its `text`, and its `result`. They share one execution, which begins
 * when the first of them is read and advances as far as the one that is furthest ahead.
 *
 * Leaving the parts or the text early ends the run; `result` then rejects with RUN_ERR_CANCELED. An engine has the parts pushed
 * (`pushTo`), and a parent takes them alone (`begin`), so that served runs pay nothing for the views.
 */
export class RunStream<out Structured = unknown, out Call = ToolCall> implements Parts, PushedParts {
  readonly #runnable: Pick<Runnable, 'kind' | 'name'>
  readonly #context: Pick<RunContext, 'runId' | 'sessionId'>
  readonly #execute: () => Parts
  #source: Parts | undefined
  // Made with the first part that a view reads.
  #collector: ResultCollector | undefined
  // The part that was read last from the source, and by the reader of the parts.
  #last: Link = {}
  #read = this.#last
  #reader: Parts | undefined
  #isLeft = false
  #collected: RunResult | undefined
  #fault: { readonly err: unknown } | undefined
  #result: Promise<TypedRunResult<Structured, Call>> | undefined

  /** @param execute called once */
  constructor(
    runnable: Pick<Runnable, 'kind' | 'name'>,
    context: Pick<RunContext, 'runId' | 'sessionId'>,
    execute: () => Parts
  ) {
    this.#runnable = runnable
    this.#context = context
    this.#execute = execute
  }

  /**
   * The text of the answer as it arrives: the run's own, of all its steps; that of members and steps of a workflow is theirs. Each
   * access is a reader of its own, which begins where the parts have been read to.
   * @throws RUN_ERR_TEXT_VOID if a step is repeated whose text was read; the run continues, for its `result`
   */
  get text(): AsyncGenerator<string, void> {
    return this.#readText(this.#read)
  }

  /** The result, as `run` returns it. Reads the run to its end, whatever else is read. @throws the errors of the run */
  get result(): Promise<TypedRunResult<Structured, Call>> {
    if (this.#result === undefined) {
      this.#result = this.#collect() as Promise<TypedRunResult<Structured, Call>>
      // Its caller may be interested in a success alone.
      this.#result.catch(() => {})
    }
    return this.#result
  }

  /** Begins the run, for a reader that needs the parts alone. */
  begin(): Parts {
    return (this.#source ??= this.#execute())
  }

  pushTo(sink: PartSink): Promise<void> {
    const source = this.begin()
    return isPushed(source) ? source.pushTo(sink) : pushAll(source, sink)
  }

  next(): Promise<IteratorResult<YieldedPart, void>> {
    return (this.#reader ??= this.#readParts()).next()
  }

  async return(): Promise<IteratorResult<YieldedPart, void>> {
    this.#isLeft = true
    this.#reader ??= nothing()
    this.#source ??= nothing()
    await Promise.all([this.#source.return(), this.#reader.return()])
    return { done: true, value: undefined }
  }

  async throw(err: unknown): Promise<IteratorResult<YieldedPart, void>> {
    await this.return()
    throw err
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  async *#readParts(): Parts {
    for (let link; (link = await this.#after(this.#read)) !== undefined;) {
      this.#read = link
      yield link.part!
    }
  }

  async *#readText(link: Link): AsyncGenerator<string, void> {
    let isEnded = false
    let isVoidable = false
    try {
      for (let next; (next = await this.#after(link)) !== undefined;) {
        link = next
        const { part } = link
        if (part?.source?.length) continue
        if (part?.type === 'text') {
          isVoidable = true
          yield part.text
        } else if (part?.type === 'step.start') {
          if (isVoidable && part.attempt > 1) throw new RUN_ERR_TEXT_VOID()
          isVoidable = false
        }
      }
      isEnded = true
    } catch (err) {
      isEnded = true
      void this.result
      throw err
    } finally {
      if (!isEnded) await this.return()
    }
  }

  async #collect(): Promise<RunResult> {
    while (this.#collected === undefined && this.#fault === undefined)
      if ((await this.#after(this.#last)) === undefined) break
    // After its `finish` nothing follows but the end.
    await this.#source?.return()
    if (this.#fault !== undefined) throw this.#fault.err
    if (this.#collected !== undefined) return this.#collected
    if (this.#isLeft || this.#collector === undefined) throw new RUN_ERR_CANCELED()
    return this.#collector.end()
  }

  /** The part after one that was read; all readers get the same. */
  #after(link: Link): Promise<Link | undefined> {
    return (link.next ??= this.#pull())
  }

  async #pull(): Promise<Link | undefined> {
    this.#collector ??= new ResultCollector(this.#runnable, this.#context)
    const { done, value: part } = await this.begin().next()
    if (done === true) return undefined
    this.#collectPart(part)
    return (this.#last = { part })
  }

  #collectPart(part: YieldedPart): void {
    if (this.#collected !== undefined || this.#fault !== undefined) return
    try {
      this.#collected = this.#collector!.take(part)
    } catch (err) {
      this.#fault = { err }
    }
  }
}

/** The parts of a stream for a reader that collects their result itself. */
export function partsAlone(stream: AsyncIterable<YieldedPart>): AsyncIterable<YieldedPart> {
  return stream instanceof RunStream ? stream.begin() : stream
}

// A stream that is left before it begins has nothing to end.
async function* nothing(): AsyncGenerator<never, void> {}

/** The parts of a run, which emits its `run.*` events unless the engine or a parent does. */
export function reportRun(runnable: Runnable, context: RunContext, parts: Parts): Parts {
  return hasReport(context, runnable) ? parts : emitRunEvents(runnable, context, parts)
}

async function* emitRunEvents(runnable: Runnable, context: RunContext, stream: Parts): Parts {
  const report = new RunReport(context, runnable)
  let usage = ZERO_USAGE
  try {
    for await (const part of stream) {
      report.take(part)
      if (part.type === 'step' || part.type === 'compaction') usage = addUsage(usage, part.usage)
      // The reader may stop here, so the report cannot wait for the end of the stream.
      if (part.type === 'finish' && !part.source?.length)
        report.end({ result: { finishReason: part.finishReason, usage } })
      yield part
    }
  } catch (err) {
    report.fail(err, usage)
    throw err
  } finally {
    report.end({ result: { finishReason: 'canceled', usage } })
  }
}
