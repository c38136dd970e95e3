import type { RequestListener } from 'node:http'
import { HttpAgent } from '@ag-ui/client'
import { CopilotRuntime } from '@copilotkit/runtime/v2'
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node'

/** Where the page looks for the runtime. */
export const BASE_PATH = '/api/copilotkit'

/**
 * CopilotKit's own runtime, as its docs set it up: it answers below `/api/copilotkit` and calls an agent over AG-UI.
 * @param url of `POST /ag-ui/:name`
 */
export const serveRuntime = (url: string): RequestListener =>
  createCopilotNodeListener({
    runtime: new CopilotRuntime({ agents: { default: new HttpAgent({ url }) } }),
    basePath: BASE_PATH
  })
