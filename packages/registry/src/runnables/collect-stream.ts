import {
  errorFromPart,
  RunResultBuilder,
  type RunContext,
  type Runnable,
  type RunResult,
  type YieldedPart
} from '@svc/contract'
import { completeFinish } from '../engine/log/part-writer.ts'

/** Collects the result of a stream that no engine executes, part by part. */
export class ResultCollector {
  readonly #startedAt = performance.now()
  readonly #builder = new RunResultBuilder()

  constructor(
    { kind, name }: Pick<Runnable, 'kind' | 'name'>,
    { runId, sessionId }: Pick<RunContext, 'runId' | 'sessionId'>
  ) {
    this.#builder.add({ type: 'start', runId, sessionId, kind, name })
  }

  /** Takes the next part; returns the result once it is complete. @throws the error of the stream's `error` part */
  take(part: YieldedPart): RunResult | undefined {
    if (part.type === 'finish' && !part.source?.length) {
      this.#builder.add(completeFinish(part, this.#builder, this.#startedAt))
      return this.#builder.build()
    }
    if (part.type === 'error' && !part.source?.length) throw errorFromPart(part.error)
    this.#builder.add(part as Exclude<YieldedPart, { type: 'finish' }>)
    return undefined
  }

  /** The result of a stream that ended without a `finish`. */
  end(): RunResult {
    return this.take({ type: 'finish', finishReason: 'stop' })!
  }
}

/**
 * Collects the result of a stream that no engine executes.
 * @throws what the stream throws, or the error of its `error` part
 */
export async function collectStream(
  runnable: Pick<Runnable, 'kind' | 'name'>,
  stream: AsyncIterable<YieldedPart>,
  context: Pick<RunContext, 'runId' | 'sessionId'>
): Promise<RunResult> {
  const collector = new ResultCollector(runnable, context)
  for await (const part of stream) {
    const result = collector.take(part)
    if (result !== undefined) return result
  }
  return collector.end()
}
