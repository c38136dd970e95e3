import type { FastifyRequest } from 'fastify'
import { A2A_ERR_VERSION } from '../errors.ts'
import { codecFor, type BindingName } from '../wire/codec-for.ts'
import type { Codec } from '../wire/codec.ts'
import { findVersion, toDefaultVersion, type ProtocolVersion } from '../wire/versions.ts'

const NAME = 'a2a-version'

/** The version of a request, and the codec of its answer. */
export interface Negotiated {
  /** The version the request names. */
  readonly named: ProtocolVersion | undefined
  /** Of the named version, or of the default one. */
  readonly codec: Codec
  /** Set when the named version is not served. */
  readonly refusal: Error | undefined
}

/** Reads the version a request names, in its header or its query. */
export function negotiateVersion(
  { headers, query }: Pick<FastifyRequest, 'headers' | 'query'>,
  served: readonly ProtocolVersion[],
  binding: BindingName
): Negotiated {
  const text = textOf(headers[NAME]) || textOf((query as Record<string, unknown>)['A2A-Version'])
  const named = text === '' ? undefined : findVersion(text, served)
  const codec = codecFor(named ?? toDefaultVersion(served), binding)
  return { named, codec, refusal: text === '' || named !== undefined ? undefined : refusalOf(text, served) }
}

/** The error of a version that is not served: an A2A_ERR_VERSION. */
export function refusalOf(named: string, served: readonly ProtocolVersion[]): Error {
  const supported = served.join(', ')
  return Object.assign(new A2A_ERR_VERSION(named.slice(0, 20).replaceAll(/[^\w.-]/g, '?'), supported), {
    metadata: { supportedVersions: supported }
  })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}
