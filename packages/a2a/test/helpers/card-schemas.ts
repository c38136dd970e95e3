import { Type, type TProperties } from '@sinclair/typebox'
import {
  anything,
  flag,
  list,
  mapOf,
  maybe,
  maybeFlag,
  oneField,
  oneOf,
  only,
  text,
  texts
} from './strict-schemas.ts'

const about = { description: maybe }
const extension = only({
  uri: text,
  description: maybe,
  required: maybeFlag,
  params: Type.Optional(anything)
})
const signature = only({ protected: text, signature: text, header: Type.Optional(anything) })
const legacySecurity = list(mapOf(Type.Array(text)))
const security = list(only({ schemes: mapOf(only({ list: Type.Array(text) })) }))

function cardFields(skillSecurity: TProperties): TProperties {
  const skill = only({
    id: text,
    name: text,
    description: text,
    tags: Type.Array(text),
    examples: texts,
    inputModes: texts,
    outputModes: texts,
    ...skillSecurity
  })
  return {
    name: text,
    description: text,
    version: text,
    provider: Type.Optional(only({ organization: text, url: text })),
    documentationUrl: maybe,
    iconUrl: maybe,
    defaultInputModes: Type.Array(text),
    defaultOutputModes: Type.Array(text),
    skills: Type.Array(skill),
    signatures: list(signature)
  }
}

const more = { refreshUrl: maybe, scopes: mapOf(text) }
const legacyFlows = {
  authorizationCode: only({ authorizationUrl: text, tokenUrl: text, ...more }),
  clientCredentials: only({ tokenUrl: text, ...more }),
  implicit: only({ authorizationUrl: text, ...more }),
  password: only({ tokenUrl: text, ...more })
}
const flows = {
  ...legacyFlows,
  authorizationCode: only({ authorizationUrl: text, tokenUrl: text, pkceRequired: maybeFlag, ...more }),
  deviceCode: only({ deviceAuthorizationUrl: text, tokenUrl: text, ...more })
}
const place = oneOf(['query', 'header', 'cookie'])
const http = { scheme: text, bearerFormat: maybe, ...about }

const ofType = (type: string, fields: TProperties) => only({ type: Type.Literal(type), ...fields, ...about })
const legacyScheme = Type.Union([
  ofType('apiKey', { in: place, name: text }),
  ofType('http', http),
  ofType('oauth2', { flows: Type.Partial(only(legacyFlows)), oauth2MetadataUrl: maybe }),
  ofType('openIdConnect', { openIdConnectUrl: text }),
  ofType('mutualTLS', {})
])
const scheme = oneField({
  apiKeySecurityScheme: only({ location: place, name: text, ...about }),
  httpAuthSecurityScheme: only(http),
  oauth2SecurityScheme: only({ flows: oneField(flows), oauth2MetadataUrl: maybe, ...about }),
  openIdConnectSecurityScheme: only({ openIdConnectUrl: text, ...about }),
  mtlsSecurityScheme: only(about)
})

/** The card of 0.3. */
export const LegacyCardSchema = only({
  ...cardFields({ security: legacySecurity }),
  protocolVersion: Type.Literal('0.3.0'),
  url: text,
  preferredTransport: text,
  additionalInterfaces: Type.Array(only({ url: text, transport: text })),
  capabilities: only({
    streaming: flag,
    pushNotifications: flag,
    stateTransitionHistory: flag,
    extensions: list(extension)
  }),
  securitySchemes: Type.Optional(mapOf(legacyScheme)),
  security: legacySecurity,
  supportsAuthenticatedExtendedCard: flag
})

/** The card of 1.0. */
export const CardSchema = only({
  ...cardFields({ securityRequirements: security }),
  supportedInterfaces: Type.Array(
    only({
      url: text,
      protocolBinding: oneOf(['JSONRPC', 'HTTP+JSON']),
      protocolVersion: text,
      tenant: maybe
    }),
    { minItems: 1 }
  ),
  capabilities: only({
    streaming: flag,
    pushNotifications: flag,
    extendedAgentCard: flag,
    extensions: list(extension)
  }),
  securitySchemes: Type.Optional(mapOf(scheme)),
  securityRequirements: security
})
