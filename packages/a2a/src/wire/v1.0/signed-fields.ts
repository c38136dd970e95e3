import type { Fields } from '../read-answer.ts'

/** A field of a proto, as canonical JSON has it. */
interface Field {
  /** True if the field is left out when it has its default value: it is neither required nor `optional`. */
  readonly isFilled?: boolean
  /** The message in the field, its list, or the values of its map. */
  readonly message?: Message
  readonly many?: 'list' | 'map'
}
type Message = Readonly<Record<string, Field>>

const kept: Field = {}
const filled: Field = { isFilled: true }

const describe = { description: filled }
const flow = { refreshUrl: filled, scopes: kept }
const FLOWS: Message = {
  authorizationCode: {
    message: { authorizationUrl: kept, tokenUrl: kept, ...flow, pkceRequired: filled }
  },
  clientCredentials: { message: { tokenUrl: kept, ...flow } },
  deviceCode: { message: { deviceAuthorizationUrl: kept, tokenUrl: kept, ...flow } },
  implicit: { message: { authorizationUrl: filled, refreshUrl: filled, scopes: filled } },
  password: { message: { tokenUrl: filled, refreshUrl: filled, scopes: filled } }
}
const SCHEME: Message = {
  apiKeySecurityScheme: { message: { ...describe, location: kept, name: kept } },
  httpAuthSecurityScheme: { message: { ...describe, scheme: kept, bearerFormat: filled } },
  oauth2SecurityScheme: { message: { ...describe, flows: { message: FLOWS }, oauth2MetadataUrl: filled } },
  openIdConnectSecurityScheme: { message: { ...describe, openIdConnectUrl: kept } },
  mtlsSecurityScheme: { message: describe }
}
const REQUIREMENTS: Field = {
  isFilled: true,
  many: 'list',
  message: { schemes: { isFilled: true, many: 'map', message: { list: filled } } }
}
const CARD: Message = {
  name: kept,
  description: kept,
  supportedInterfaces: {
    many: 'list',
    message: { url: kept, protocolBinding: kept, protocolVersion: kept, tenant: filled }
  },
  provider: { message: { url: kept, organization: kept } },
  version: kept,
  documentationUrl: kept,
  capabilities: {
    message: {
      streaming: kept,
      pushNotifications: kept,
      extendedAgentCard: kept,
      extensions: {
        isFilled: true,
        many: 'list',
        message: { uri: filled, description: filled, required: filled, params: kept }
      }
    }
  },
  securitySchemes: { isFilled: true, many: 'map', message: SCHEME },
  securityRequirements: REQUIREMENTS,
  defaultInputModes: kept,
  defaultOutputModes: kept,
  skills: {
    many: 'list',
    message: {
      id: kept,
      name: kept,
      description: kept,
      tags: kept,
      examples: filled,
      inputModes: filled,
      outputModes: filled,
      securityRequirements: REQUIREMENTS
    }
  },
  iconUrl: kept
}

/**
 * The fields of a card that its signatures cover in 1.0: those of the proto except `signatures`, without default values of fields
 * that are neither required nor `optional`.
 * @see https://a2a-protocol.org/v1.0.0/specification/#841-canonicalization-requirements
 */
export function toSignedFields(card: Fields): Fields {
  return pick(card, CARD)
}

function pick(value: unknown, message: Message): Fields {
  if (!isObject(value)) return {}
  const entries = Object.entries(message).flatMap(([name, field]): [string, unknown][] => {
    // The JSON of a proto may have null for fields that are not set.
    if (!Object.hasOwn(value, name) || value[name] === null || value[name] === undefined) return []
    const given = narrow(value[name], field)
    return field.isFilled === true && isDefault(given) ? [] : [[name, given]]
  })
  return Object.fromEntries(entries)
}

function narrow(value: unknown, { message, many }: Field): unknown {
  if (message === undefined) return value
  if (many === undefined) return pick(value, message)
  if (many === 'list') return Array.isArray(value) ? value.map((each) => pick(each, message)) : []
  if (!isObject(value)) return {}
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, pick(each, message)]))
}

function isDefault(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === '' || value === false || value === 0
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
