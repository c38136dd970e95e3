import openAi, { type OpenAiOptions } from '@svc/openai'
import { serveApp, type AppRequest, type ServedApp } from '@tools/wires/serve-app'
import OpenAI, { type ClientOptions } from 'openai'

/** A listening app. */
export interface OpenAiApp extends ServedApp {
  /** The API, under `/v1`. */
  baseURL: string
  /** A client of the API, with a key. */
  client(apiKey?: string, options?: ClientOptions): OpenAI
}

/** Serves the API under `/v1` on a free port until the test ends. Clients may give instructions and tools. */
export async function openAiApp(
  t: { teardown(fn: () => unknown): unknown },
  request: AppRequest<OpenAiOptions> = {}
): Promise<OpenAiApp> {
  const served = await serveApp(t, request, (app, options) =>
    app.register(openAi, { prefix: '/v1', clientTools: true, clientInstructions: true, ...options })
  )
  const baseURL = `${served.origin}/v1`
  const client = (apiKey = 'none', more: ClientOptions = {}) =>
    new OpenAI({ baseURL, apiKey, maxRetries: 0, ...more })
  return { ...served, baseURL, client }
}
