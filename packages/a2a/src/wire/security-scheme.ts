/** A flow of OAuth 2.0; which URLs it has depends on the flow. */
interface OAuthFlow {
  refreshUrl?: string
  /** Scopes, each with what it is for. */
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

/** The fields of each kind of security scheme, by its `type`. */
export interface SchemeFields {
  apiKey: Described & { in: 'query' | 'header' | 'cookie'; name: string }
  http: Described & { scheme: string; bearerFormat?: string }
  oauth2: Described & { flows: OAuthFlows; oauth2MetadataUrl?: string }
  openIdConnect: Described & { openIdConnectUrl: string }
  mutualTLS: Described
}

/** A security scheme, in the form of OpenAPI and of cards before 1.0. */
export type SecurityScheme = { [T in keyof SchemeFields]: { type: T } & SchemeFields[T] }[keyof SchemeFields]
