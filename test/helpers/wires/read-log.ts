import type { NumberedPart } from '@svc/registry'
import { EventSourceParserStream } from 'eventsource-parser/stream'

/** The log of a run over HTTP, to its end. */
export async function* readLog(origin: string, runId: string): AsyncGenerator<NumberedPart> {
  yield* readParts(await fetch(`${origin}/api/runs/${runId}/stream`))
}

/** The parts of an event stream of our own API; those of a session have the `runId` too. */
export async function* readParts(response: Response): AsyncGenerator<NumberedPart> {
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`)
  const events = response
    .body!.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
  for await (const { data } of events) yield JSON.parse(data) as NumberedPart
}
