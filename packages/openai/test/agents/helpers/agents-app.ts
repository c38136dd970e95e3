import openAiAgents, { type OpenAiAgentsOptions } from '@svc/openai/agents'
import { serveApp, type AppRequest, type ServedApp } from '@tools/wires/serve-app'
import OpenAI, { APIError, type ClientOptions } from 'openai'

/** A listening app. */
export interface AgentsApp extends ServedApp {
  /** The API, under `/v1`. */
  baseURL: string
  /** A client of the API, with a key. */
  client(apiKey?: string, options?: ClientOptions): OpenAI
}

/** Serves the Agents API under `/v1` on a free port until the test ends. Clients may give instructions and tools. */
export async function agentsApp(
  t: { teardown(fn: () => unknown): unknown },
  request: AppRequest<OpenAiAgentsOptions> = {}
): Promise<AgentsApp> {
  const served = await serveApp(t, request, (app, options) =>
    app.register(openAiAgents, { prefix: '/v1', clientTools: true, clientInstructions: true, ...options })
  )
  const baseURL = `${served.origin}/v1`
  const client = (apiKey = 'none', more: ClientOptions = {}) =>
    new OpenAI({ baseURL, apiKey, maxRetries: 0, ...more })
  return { ...served, baseURL, client }
}

/** What a call of a client is refused with. */
export async function refusalOf(
  call: PromiseLike<unknown>
): Promise<{ status: unknown; code: unknown; message: string }> {
  try {
    await call
  } catch (err) {
    if (!(err instanceof APIError)) throw err
    return { status: err.status as unknown, code: err.code, message: err.message }
  }
  throw new Error('the call was not refused')
}

/** All items of a stream or a list. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

/** Reads until what was read is wanted. */
export async function until<T>(read: () => PromiseLike<T>, isWanted: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await read()
    if (isWanted(value)) return value
    await new Promise((resolve) => setImmediate(resolve))
  }
}
