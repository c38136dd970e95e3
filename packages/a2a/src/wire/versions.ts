import { Type } from '@sinclair/typebox'

/** The versions of the protocol as cards name them, the oldest first; 0.2.x is served as 0.3. */
export const PROTOCOL_VERSIONS = ['0.3', '1.0'] as const
export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number]

export const ProtocolVersionSchema = Type.Union([Type.Literal('0.3'), Type.Literal('1.0')])

/** The version of a client that names none: before 1.0 requests had no field for it. */
const UNNAMED: ProtocolVersion = '0.3'

/** The version a client gets when it names none, or one that is not served. */
export function toDefaultVersion(served: readonly ProtocolVersion[]): ProtocolVersion {
  return served.includes(UNNAMED) ? UNNAMED : (served[0] ?? UNNAMED)
}

/** The served version that a client names; undefined when it is not served. Patch numbers are ignored. */
export function findVersion(named: string, served: readonly ProtocolVersion[]): ProtocolVersion | undefined {
  // Most clients name it without a patch number.
  if ((served as readonly string[]).includes(named)) return named as ProtocolVersion
  const [, minor = ''] = /^(\d{1,4}\.\d{1,4})(?:\.\d{1,9})?$/.exec(named) ?? []
  const version = minor === '0.2' ? '0.3' : minor
  return served.find((each) => each === version)
}
