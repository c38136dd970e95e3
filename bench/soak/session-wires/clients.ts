import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { Fatal } from '../agents/service.ts'

/** The APIs of vendors that serve sessions. */
export type SessionWire = 'agents' | 'managed'

/** Of all sessions. */
const OWNER = 'reader'
// Milliseconds after which a client gives up a request, and makes another.
const PATIENCE = 5_000

const options = { apiKey: OWNER, maxRetries: 0, timeout: PATIENCE, logLevel: 'off' } as const

/** The sessions of the Agents API on a node. */
export function agentsOf(url: string): OpenAI['beta']['agents']['sessions'] {
  return new OpenAI({ ...options, baseURL: `${url}/v1` }).beta.agents.sessions
}

/** The sessions of the Managed Agents API on a node. */
export function managedOf(url: string): Anthropic['beta']['sessions'] {
  return new Anthropic({ ...options, baseURL: `${url}/managed` }).beta.sessions
}

/** The place and the headers of the stream of a session, on a node. */
export const STREAMS: Readonly<
  Record<SessionWire, { path(sessionId: string): string; readonly headers: Readonly<Record<string, string>> }>
> = {
  agents: {
    path: (id) => `/v1/agents/sessions/${id}/events`,
    headers: { authorization: `Bearer ${OWNER}`, 'openai-beta': 'agents=v1' }
  },
  managed: {
    path: (id) => `/managed/v1/sessions/${id}/events/stream?event_deltas[]=agent.message`,
    headers: { 'x-api-key': OWNER, 'anthropic-beta': 'managed-agents-2026-04-01' }
  }
}

/**
 * Does something with a node, which may fail like its connection, or say that it cannot do it now.
 * @throws Fatal if it refuses, or fails otherwise
 */
export async function ask<T>(act: () => PromiseLike<T>): Promise<T> {
  try {
    return await act()
  } catch (err) {
    const { status, message } = err as { status?: number; message: string }
    if (status === undefined || status === 503) throw err
    throw new Fatal(`${status} ${message}`)
  }
}

/** All items of a list. */
export async function collect<T>(list: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of list) all.push(item)
  return all
}
