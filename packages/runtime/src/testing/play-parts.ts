import { setTimeout as wait } from 'node:timers/promises'
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'

/** How the parts of a stream are given. */
export interface Playing {
  /** Milliseconds before each part. */
  delay?: number
  /** Breaks the stream with this after its parts. */
  breaks?: unknown
  /** `stream`: it never ends, whatever the signal says. */
  hangs?: 'call' | 'stream'
}

/** A stream of the parts; its waits end with the signal, as those of a model do. */
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
