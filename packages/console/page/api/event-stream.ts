import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { ApiError, isAbort, send, toRequestError } from './client.ts'
import type { StreamedPart } from '../models/run-items.ts'

/** How a stream is doing. */
export type StreamState =
  | { readonly is: 'connecting' | 'open' | 'over' }
  /** Cut off, and reconnecting at a time in milliseconds since the epoch. */
  | { readonly is: 'lost'; readonly until: number; readonly reason: string }
  /** Refused: it does not come back by itself. */
  | { readonly is: 'failed'; readonly error: ApiError }

/** What follows a stream. */
export interface StreamReader {
  /** Called in slices, at most once a frame, with the parts in order. */
  onParts(parts: readonly StreamedPart[]): void
  onState(state: StreamState): void
  /** Whether the stream ends after a part. Default: only with a reply without content. */
  isLast?(part: StreamedPart): boolean
  /** Whether a refusal may pass, such as that of a session that does not exist yet. */
  isPassing?(error: ApiError): boolean
}

/** Whether a part is the last one of a run, and not of a member. */
export const isEnd = ({ type, source }: StreamedPart): boolean =>
  (type === 'finish' || type === 'error') && !source?.length

const FIRST_PAUSE = 500
const MAX_PAUSE = 15_000
/** Milliseconds of work in one frame. */
const SLICE = 3
/** Messages that wait for a frame before reading stops. */
const MAX_WAITING = 2_000

/**
 * Follows an event stream from after an id until it is over or the signal aborts, over any number of connections: without gaps and
 * without duplicates, since each begins with the `Last-Event-ID` of the one before.
 */
export async function followStream(
  path: string,
  reader: StreamReader,
  signal: AbortSignal,
  after?: string
): Promise<void> {
  let lastId = after
  let pause = FIRST_PAUSE
  while (!signal.aborted) {
    reader.onState({ is: 'connecting' })
    let reason = 'The stream was cut off.'
    let wait: number | undefined
    try {
      const headers = {
        accept: 'text/event-stream',
        ...(lastId !== undefined && { 'last-event-id': lastId })
      }
      const response = await send(path, { headers, signal })
      if (response.status === 204) return reader.onState({ is: 'over' })
      reader.onState({ is: 'open' })
      const isOver = await readAll(response, reader, signal, (id) => {
        lastId = id
        pause = FIRST_PAUSE
      })
      if (isOver) return reader.onState({ is: 'over' })
    } catch (thrown) {
      if (signal.aborted || isAbort(thrown)) return
      const error = toRequestError(thrown)
      if (!(error instanceof ApiError)) throw error
      if (!error.isPassing && reader.isPassing?.(error) !== true)
        return reader.onState({ is: 'failed', error })
      reason = error.message
      wait = error.retryAfter && error.retryAfter * 1_000
    }
    const delay = wait ?? pause * (0.75 + Math.random() / 2)
    pause = Math.min(pause * 2, MAX_PAUSE)
    reader.onState({ is: 'lost', until: Date.now() + delay, reason })
    await pauseFor(delay, signal)
  }
}

// Resolves with true once the last part was read, with false if the stream ended before it.
async function readAll(
  response: Response,
  reader: StreamReader,
  signal: AbortSignal,
  onId: (id: string) => void
): Promise<boolean> {
  const waiting: EventSourceMessage[] = []
  const body = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let isRead = false
  let isOver = false
  // The first parts change the most in a view.
  let budget = 0
  let wake: (() => void) | undefined
  const parser = createParser({
    onEvent(message) {
      waiting.push(message)
      wake?.()
    }
  })
  const reading = (async () => {
    for (;;) {
      const { done, value } = await body.read()
      if (done) break
      parser.feed(value)
      while (waiting.length > MAX_WAITING && !isOver) await nextFrame()
    }
  })().finally(() => {
    isRead = true
    wake?.()
  })
  // It is awaited below: a failure before that must not count as unhandled.
  reading.catch(() => {})
  try {
    while (!isOver && !(isRead && waiting.length === 0)) {
      if (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve))
      await nextFrame()
      if (signal.aborted) break
      isOver = takeSlice(waiting, reader, onId, budget)
      budget = SLICE
    }
    if (!isOver) await reading
    return isOver
  } finally {
    isOver = true
    body.cancel().catch(() => {})
  }
}

function takeSlice(
  waiting: EventSourceMessage[],
  { onParts, isLast }: StreamReader,
  onId: (id: string) => void,
  budget: number
): boolean {
  if (waiting.length === 0) return false
  const end = performance.now() + budget
  const parts: StreamedPart[] = []
  let taken = 0
  let isOver = false
  while (taken < waiting.length && !isOver && (taken % 4 !== 0 || performance.now() < end)) {
    const { data, id } = waiting[taken++]!
    const part = JSON.parse(data) as StreamedPart
    if (id !== undefined) onId(id)
    // An error without a number says that the stream has failed, not the run: it continues with the next connection.
    if (id === undefined && part.type === 'error') continue
    parts.push(part)
    isOver = isLast?.(part) ?? false
  }
  waiting.splice(0, taken)
  if (parts.length > 0) onParts(parts)
  return isOver
}

/** Resolves before the next frame; in a hidden tab, which has no frames, after a short while. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, document.hidden ? 200 : 100)
    const frame = requestAnimationFrame(done)
    function done() {
      clearTimeout(timer)
      cancelAnimationFrame(frame)
      resolve()
    }
  })
}

// Ends early when the browser is online again.
function pauseFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds)
    addEventListener('online', done, { once: true })
    signal.addEventListener('abort', done, { once: true })
    function done() {
      clearTimeout(timer)
      removeEventListener('online', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
  })
}
