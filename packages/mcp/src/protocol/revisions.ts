/** The revision whose requests say all about themselves: each names its revision and what its client can do. */
export const MODERN = '2026-07-28'

/** Earlier revisions, which begin with `initialize`; the newest first. */
export const LEGACY_REVISIONS: readonly string[] = [
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
  '2024-10-07'
]

/** True for the names of revisions from 2026-07-28 on, known or not: they are dates. */
export function isModern(revision: string | undefined): boolean {
  return revision !== undefined && revision >= MODERN
}

/** Keys of `_meta` that the protocol reserves. */
export const META_KEYS = {
  revision: 'io.modelcontextprotocol/protocolVersion',
  client: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  server: 'io.modelcontextprotocol/serverInfo',
  subscription: 'io.modelcontextprotocol/subscriptionId'
} as const

/** The id of the extension for tasks. */
export const TASKS = 'io.modelcontextprotocol/tasks'
