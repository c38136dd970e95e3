import type { NumberedPart } from '@svc/registry'
import type { EventSourceMessage } from 'eventsource-parser'
import { EventSourceParserStream } from 'eventsource-parser/stream'

/** The log of a run over HTTP, to its end. */
export async function* readLog(origin: string, runId: string): AsyncGenerator<NumberedPart> {
  yield* readParts(await fetch(`${origin}/api/runs/${runId}/stream`))
}

/** The parts of an event stream of our own API; those of a session have the `runId` too. */
export async function* readParts(response: Response): AsyncGenerator<NumberedPart> {
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`)
  for await (const { data } of readEvents(response)) yield JSON.parse(data) as NumberedPart
}

/** The events of a stream. */
export function readEvents(response: Response): AsyncIterable<EventSourceMessage> {
  return response.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
}
