import type { FastifyReply, FastifyRequest } from 'fastify'
import { A2A_ERR_EXTENSION_REQUIRED } from '../errors.ts'
import type { AgentExtension, ProtocolVersion } from '../model/agent-card.ts'

/** The header in which a version names extensions, in requests and in answers, separated by commas. */
export const EXTENSION_HEADERS: Readonly<Record<ProtocolVersion, string>> = {
  '0.3': 'x-a2a-extensions',
  '1.0': 'a2a-extensions'
}

const NONE: readonly string[] = Object.freeze([])

/** The declared extensions that a request names: they are in use, and the answer says so. */
export function activateExtensions(
  declared: readonly AgentExtension[],
  version: ProtocolVersion,
  { headers }: FastifyRequest,
  reply: FastifyReply
): readonly string[] {
  if (declared.length === 0) return NONE
  const name = EXTENSION_HEADERS[version]
  const given = headers[name]
  if (given === undefined) return NONE
  const named = new Set(
    String(given)
      .split(',')
      .map((each) => each.trim())
  )
  const active = declared.map(({ uri }) => uri).filter((uri) => named.has(uri))
  if (active.length > 0) reply.header(name, active.join(', '))
  return active
}

/** Makes sure that those which every message needs are in use. @throws A2A_ERR_EXTENSION_REQUIRED */
export function requireExtensions(declared: readonly AgentExtension[], active: readonly string[]): void {
  const missing = declared.filter(({ uri, required }) => required === true && !active.includes(uri))
  if (missing.length === 0) return
  const requiredExtensions = missing.map(({ uri }) => uri).join(', ')
  throw Object.assign(new A2A_ERR_EXTENSION_REQUIRED(requiredExtensions), {
    metadata: { requiredExtensions }
  })
}
