import { Type, type TProperties } from '@sinclair/typebox'

const text = Type.String()
const maybe = Type.Optional(text)
const words = (...of: string[]) => Type.Union(of.map((each) => Type.Literal(each)))

// Fields beyond the specification go onto the card unchanged.
const scheme = (type: string, fields: TProperties) =>
  Type.Object({ type: Type.Literal(type), description: maybe, ...fields })

const flow = (fields: TProperties) =>
  Type.Optional(
    Type.Object({ ...fields, refreshUrl: maybe, scopes: Type.Record(Type.String(), Type.String()) })
  )

const FlowsSchema = Type.Object(
  {
    authorizationCode: flow({ authorizationUrl: text, tokenUrl: text }),
    clientCredentials: flow({ tokenUrl: text }),
    deviceCode: flow({ deviceAuthorizationUrl: text, tokenUrl: text }),
    implicit: flow({ authorizationUrl: text }),
    password: flow({ tokenUrl: text })
  },
  { additionalProperties: false, minProperties: 1 }
)

/**
 * Security schemes by name, in the form of OpenAPI; the cards of all versions are made from them.
 * @see https://a2a-protocol.org/v0.3.0/specification/#553-securityscheme-object
 */
export const SecuritySchemesSchema = Type.Record(
  Type.String(),
  Type.Union([
    scheme('apiKey', { in: words('query', 'header', 'cookie'), name: text }),
    scheme('http', { scheme: text, bearerFormat: maybe }),
    scheme('oauth2', { flows: FlowsSchema, oauth2MetadataUrl: maybe }),
    scheme('openIdConnect', { openIdConnectUrl: text }),
    scheme('mutualTLS', {})
  ])
)
