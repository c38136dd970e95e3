import { LEGACY_REVISIONS, MODERN, TASKS } from '../protocol/message.ts'
import type { McpSettings } from '../options.ts'

/** The name of the server, as its results have it. */
export function identityOf({ name, title, version }: McpSettings): object {
  return { name, version, ...(title !== undefined && { title }) }
}

/** The result of `server/discover`. */
export function discover({ instructions }: McpSettings): object {
  const capabilities = {
    tools: { listChanged: true },
    resources: {},
    prompts: { listChanged: true },
    extensions: { [TASKS]: {} }
  }
  return { supportedVersions: [MODERN], capabilities, ...(instructions !== undefined && { instructions }) }
}

/** The result of `initialize`, with which revisions before 2026-07-28 begin. */
export function initialize(settings: McpSettings, requested: string): object {
  const { instructions } = settings
  return {
    protocolVersion: LEGACY_REVISIONS.includes(requested) ? requested : LEGACY_REVISIONS[0],
    // No stream reports changes.
    capabilities: { tools: {}, resources: {}, prompts: {} },
    serverInfo: identityOf(settings),
    ...(instructions !== undefined && { instructions })
  }
}
