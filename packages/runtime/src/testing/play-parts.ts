import { setTimeout as wait } from 'node:timers/promises'
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'

/** How a stream plays its parts. */
export interface Playing {
  /** Milliseconds before each part. */
  delay?: number
  /** Error that breaks the stream after its parts. */
  breaks?: unknown
  /** `stream`: never ends, even after an abort. */
  hangs?: 'call' | 'stream'
}

/** Streams the parts; like those of a model, delays end when the signal aborts. */
export function playParts(
  parts: readonly LanguageModelV4StreamPart[],
  { delay, breaks, hangs }: Playing,
  signal: AbortSignal | undefined
): ReadableStream<LanguageModelV4StreamPart> {
  const end = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>) => {
    if (breaks !== undefined) controller.error(breaks)
    else if (hangs === undefined) controller.close()
  }
  if (delay === undefined && breaks === undefined) {
    return new ReadableStream({
      start(controller) {
        for (const part of parts) controller.enqueue(part)
        end(controller)
      }
    })
  }
  let next = 0
  return new ReadableStream(
    {
      async pull(controller) {
        if (delay !== undefined) await wait(delay, undefined, signal && { signal })
        const part = parts[next++]
        if (part === undefined) end(controller)
        else controller.enqueue(part)
      }
    },
    { highWaterMark: 0 }
  )
}
