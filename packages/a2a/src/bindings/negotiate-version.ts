import type { FastifyRequest } from 'fastify'
import { A2A_ERR_VERSION } from '../errors.ts'
import type { ProtocolVersion } from '../model/agent-card.ts'

const NAME = 'a2a-version'

/**
 * The version that a request names, in its header or its query; undefined when it names none. Patch numbers do not count,
 * and 0.2 is spoken like 0.3.
 * @throws A2A_ERR_VERSION when it is not served
 */
export function negotiateVersion(
  { headers, query }: Pick<FastifyRequest, 'headers' | 'query'>,
  served: readonly ProtocolVersion[]
): ProtocolVersion | undefined {
  const named = textOf(headers[NAME]) || textOf((query as Record<string, unknown>)['A2A-Version'])
  if (named === '') return undefined
  // As most name it.
  if ((served as readonly string[]).includes(named)) return named as ProtocolVersion
  const [, minor = ''] = /^(\d{1,4}\.\d{1,4})(?:\.\d{1,9})?$/.exec(named) ?? []
  const version = minor === '0.2' ? '0.3' : minor
  return served.find((each) => each === version) ?? refuse(named, served)
}

/** @throws A2A_ERR_VERSION */
export function refuse(named: string, served: readonly ProtocolVersion[]): never {
  const supported = served.join(', ')
  throw Object.assign(new A2A_ERR_VERSION(named.slice(0, 20).replaceAll(/[^\w.-]/g, '?'), supported), {
    metadata: { supportedVersions: supported }
  })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}
