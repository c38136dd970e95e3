import type { SecuritySchemes } from '@svc/contract'
import type { SecurityRequirement } from '../model/agent-card.ts'

/** The fields that all flows of OAuth 2.0 share. */
interface OAuthFlow {
  refreshUrl?: string
  /** Scopes, with their descriptions. */
  scopes: Record<string, string>
}

/** The flows of an OAuth 2.0 scheme. */
export interface OAuthFlows {
  authorizationCode?: OAuthFlow & { authorizationUrl: string; tokenUrl: string }
  clientCredentials?: OAuthFlow & { tokenUrl: string }
  deviceCode?: OAuthFlow & { deviceAuthorizationUrl: string; tokenUrl: string }
  implicit?: OAuthFlow & { authorizationUrl: string }
  password?: OAuthFlow & { tokenUrl: string }
}

interface Described {
  description?: string
}

/** The fields of security schemes, by `type`. */
export interface SchemeFields {
  apiKey: Described & { in: 'query' | 'header' | 'cookie'; name: string }
  http: Described & { scheme: string; bearerFormat?: string }
  oauth2: Described & { flows: OAuthFlows; oauth2MetadataUrl?: string }
  openIdConnect: Described & { openIdConnectUrl: string }
  mutualTLS: Described
}

/** A security scheme in the form of OpenAPI, and of cards before 1.0. */
export type SecurityScheme = { [T in keyof SchemeFields]: { type: T } & SchemeFields[T] }[keyof SchemeFields]

/** A security scheme as the protos have it, in 1.0 and in the HTTP+JSON of 0.3: exactly one member. */
export interface SecuritySchemeV10 {
  apiKeySecurityScheme?: Omit<SchemeFields['apiKey'], 'in'> & { location: SchemeFields['apiKey']['in'] }
  httpAuthSecurityScheme?: SchemeFields['http']
  /** With one flow. */
  oauth2SecurityScheme?: SchemeFields['oauth2']
  openIdConnectSecurityScheme?: SchemeFields['openIdConnect']
  mtlsSecurityScheme?: SchemeFields['mutualTLS']
}

const MEMBERS: Readonly<Record<string, keyof SecuritySchemeV10>> = {
  http: 'httpAuthSecurityScheme',
  apiKey: 'apiKeySecurityScheme',
  oauth2: 'oauth2SecurityScheme',
  openIdConnect: 'openIdConnectSecurityScheme',
  mutualTLS: 'mtlsSecurityScheme'
}

/** The proto form of schemes; unknown kinds are left out. */
export function encodeSchemes(schemes: SecuritySchemes): Record<string, SecuritySchemeV10> {
  return Object.fromEntries(
    Object.entries(schemes).flatMap(([name, { type, in: location, flows, ...scheme }]) => {
      const member = MEMBERS[String(type)]
      const more = {
        ...(location !== undefined && { location }),
        ...(flows !== undefined && { flows: firstOf(flows as object) })
      }
      return member === undefined ? [] : [[name, { [member]: { ...scheme, ...more } }]]
    })
  )
}

// The protos allow one flow per scheme.
function firstOf(flows: object): object {
  return Object.fromEntries(Object.entries(flows).slice(0, 1))
}

/** The requirements that any one of the schemes fulfils, without scopes. */
export function encodeRequirements(
  schemes: Readonly<Record<string, SecuritySchemeV10>>
): SecurityRequirementV10[] {
  return Object.keys(schemes).map((name) => encodeRequirement({ [name]: [] }))
}

/** Schemes that are needed together, as the protos have them. */
export interface SecurityRequirementV10 {
  schemes: Record<string, { list: string[] }>
}

export function encodeRequirement(required: SecurityRequirement): SecurityRequirementV10 {
  const schemes = Object.entries(required).map(([name, list]) => [name, { list }])
  return { schemes: Object.fromEntries(schemes) as SecurityRequirementV10['schemes'] }
}
