import agUi, { type AgUiOptions } from '@svc/ag-ui'
import { serveApp, type AppRequest, type ServedApp } from '@tools/wires/serve-app'

/** A listening app. */
export interface AgUiApp extends ServedApp {
  /** The address of an agent, or of another kind: `team/crew`. */
  url(name: string): string
}

/** Serves AG-UI under `/api` on a free port until the test ends. */
export async function agUiApp(
  t: { teardown(fn: () => unknown): unknown },
  request: AppRequest<AgUiOptions> = {}
): Promise<AgUiApp> {
  const served = await serveApp(t, request, (app, options) =>
    app.register(agUi, { prefix: '/api', ...options })
  )
  return { ...served, url: (name) => `${served.origin}/api/ag-ui/${name}` }
}
