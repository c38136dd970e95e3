import { ENUMS, fieldsOf, MESSAGES, type Field } from './proto-messages.ts'

type Schema = Readonly<Record<string, unknown>>
type MessageName = keyof typeof MESSAGES

/** ProtoJSON: how the types of protobuf are written as JSON. */
const TYPES: Readonly<Record<string, Schema>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 },
  bytes: { type: 'string', pattern: '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' },
  Struct: { type: 'object' },
  Value: {},
  Timestamp: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d{1,9})?Z$' },
  ...Object.fromEntries(Object.entries(ENUMS).map(([name, values]) => [name, { enum: values }]))
}

/** An object that has these fields and no others, and all of them but the optional ones. */
function only(properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((key) => !optional.includes(key))
  return { type: 'object', properties, required, additionalProperties: false }
}

const text = { type: 'string' }
const integer = { type: 'integer' }
const typeUrl = (name: string) => ({ const: `type.googleapis.com/google.rpc.${name}` })
const details = {
  type: 'array',
  minItems: 1,
  items: {
    anyOf: [
      only(
        {
          '@type': typeUrl('ErrorInfo'),
          reason: { ...text, pattern: '^[A-Z][A-Z0-9_]+[A-Z0-9]$', maxLength: 63 },
          domain: text,
          metadata: { type: 'object', additionalProperties: text }
        },
        ['metadata']
      ),
      only({
        '@type': typeUrl('BadRequest'),
        fieldViolations: { type: 'array', minItems: 1, items: only({ field: text, description: text }) }
      })
    ]
  }
}

/** Errors: of JSON-RPC 2.0, with the details of google.rpc as its data; and of HTTP+JSON (AIP-193). */
const ERRORS = {
  RpcError: only({
    jsonrpc: { const: '2.0' },
    id: { type: ['string', 'number', 'null'] },
    error: only({ code: integer, message: text, data: details })
  }),
  RestError: only({
    error: only({ code: integer, status: { ...text, pattern: '^[A-Z_]+$' }, message: text, details })
  })
}

/**
 * The JSON schema (2020-12) of the messages of 1.0, made as the project makes the one that it publishes: an object for each
 * message, which has nothing else, with the names of ProtoJSON; and with what that one leaves out: what is required, what of
 * a `oneof` excludes what.
 */
export const PROTO_SCHEMA = {
  $id: '1.0',
  $defs: {
    ...(Object.fromEntries(
      (Object.keys(MESSAGES) as MessageName[]).map((name) => [name, messageSchema(name)])
    ) as Record<MessageName, Schema>),
    ...ERRORS,
    Empty: only({})
  }
}

function messageSchema(name: MessageName): Schema {
  const fields = fieldsOf(name)
  const choices = fields.filter(([, { isOneOf }]) => isOneOf)
  const optional = fields.filter(([, { isRequired }]) => !isRequired).map(([key]) => key)
  return {
    ...only(Object.fromEntries(fields.map(([key, field]) => [key, fieldSchema(field)])), optional),
    ...(choices.length > 0 && { oneOf: choices.map(([key]) => ({ required: [key] })) })
  }
}

function fieldSchema({ type, isRepeated, isMap, least }: Field): Schema {
  const one = TYPES[type] ?? { $ref: `#/$defs/${type}` }
  if (isRepeated) return { type: 'array', items: one, minItems: least }
  return isMap ? { type: 'object', additionalProperties: one } : one
}
