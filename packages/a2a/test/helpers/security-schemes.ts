const scopes = { 'agents:run': 'Run agents' }
const refreshUrl = 'https://example.org/refresh'
const tokenUrl = 'https://example.org/token'
const authorizationUrl = 'https://example.org/authorize'

/** Every kind of security scheme, as an app declares it. */
export const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A token' },
  basic: { type: 'http', scheme: 'basic' },
  header: { type: 'apiKey', in: 'header', name: 'x-key' },
  query: { type: 'apiKey', in: 'query', name: 'key' },
  cookie: { type: 'apiKey', in: 'cookie', name: 'key' },
  code: { type: 'oauth2', flows: { authorizationCode: { authorizationUrl, tokenUrl, refreshUrl, scopes } } },
  client: {
    type: 'oauth2',
    flows: { clientCredentials: { tokenUrl, scopes } },
    oauth2MetadataUrl: 'https://example.org/.well-known/oauth-authorization-server'
  },
  several: {
    type: 'oauth2',
    flows: {
      implicit: { authorizationUrl, scopes: {} },
      password: { tokenUrl, scopes },
      clientCredentials: { tokenUrl, scopes }
    }
  },
  openId: { type: 'openIdConnect', openIdConnectUrl: 'https://example.org/.well-known/openid-configuration' },
  mutual: { type: 'mutualTLS', description: 'A certificate' }
}
