import Anthropic, { APIError, type ClientOptions } from '@anthropic-ai/sdk'
import type { BetaManagedAgentsStreamSessionEvents } from '@anthropic-ai/sdk/resources/beta/sessions/events'
import anthropic, { type AnthropicOptions } from '@svc/anthropic'
import { serveApp, type AppRequest, type ServedApp } from '@tools/wires/serve-app'

/** A listening app, and clients of it by the vendor's SDK, which repeat nothing. */
export interface SessionsApp extends ServedApp {
  readonly client: Anthropic
  connect(more?: ClientOptions): Anthropic
}

/** Serves the Managed Agents API under `/managed` on a free port until the test ends. */
export async function sessionsApp(
  t: { teardown(fn: () => unknown): unknown },
  request: AppRequest<AnthropicOptions> = {}
): Promise<SessionsApp> {
  const served = await serveApp(t, request, (app, options) =>
    app.register(anthropic, { prefix: '/managed', clientTools: true, clientInstructions: true, ...options })
  )
  const baseURL = `${served.origin}/managed`
  const connect = (more?: ClientOptions) =>
    new Anthropic({ baseURL, apiKey: 'any', maxRetries: 0, logLevel: 'off', ...more })
  return { ...served, client: connect(), connect }
}

/** All items of a list, whatever its pages. */
export async function readAll<T>(list: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of list) all.push(item)
  return all
}

/** The status and the code with which a request is refused. */
export async function refusalOf(request: PromiseLike<unknown>): Promise<string> {
  try {
    await request
  } catch (err) {
    if (err instanceof APIError) return `${err.status} ${(err as { errorCode?: string }).errorCode}`
    throw err
  }
  return 'not refused'
}

type StreamEvent = BetaManagedAgentsStreamSessionEvents
type SessionEvent = Exclude<StreamEvent, { type: 'event_start' | 'event_delta' }>

/**
 * The events of a session until it has been idle this many times, by the pattern of the vendor: open the stream, list, and drop what is
 * known.
 * @param atEnd true if only the end of a turn counts
 */
export async function untilIdle(
  client: Anthropic,
  id: string,
  times = 1,
  atEnd = false
): Promise<SessionEvent[]> {
  const stream = await client.beta.sessions.events.stream(id)
  const seen = new Map<string, SessionEvent>()
  const isOver = () => {
    const idle = [...seen.values()].filter((event) => event.type === 'session.status_idle')
    return idle.filter(({ stop_reason: { type } }) => !atEnd || type !== 'requires_action').length >= times
  }
  for await (const event of client.beta.sessions.events.list(id)) seen.set(event.id, event)
  if (!isOver())
    for await (const event of stream) {
      if (!('id' in event)) throw new Error('a preview was not asked for')
      seen.set(event.id, event)
      if (isOver()) break
    }
  stream.controller.abort()
  return [...seen.values()]
}
