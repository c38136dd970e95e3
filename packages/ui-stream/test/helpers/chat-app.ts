import uiStream, { type UiStreamOptions } from '@svc/ui-stream'
import { serveApp, type AppRequest, type ServedApp } from '@tools/wires/serve-app'

/** A listening app. */
export interface ChatApp extends ServedApp {
  /** The address of the chats of an agent, or of another kind: `team/crew`. */
  api(name: string): string
}

/** Serves chats under `/api` on a free port until the test ends. */
export async function chatApp(
  t: { teardown(fn: () => unknown): unknown },
  request: AppRequest<UiStreamOptions> = {}
): Promise<ChatApp> {
  const served = await serveApp(t, request, (app, options) =>
    app.register(uiStream, { prefix: '/api', ...options })
  )
  return { ...served, api: (name) => `${served.origin}/api/chat/${name}` }
}
