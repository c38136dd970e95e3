/** A JSON Schema, as far as forms are made of it. Any of it may be wrong: it comes from models and tools. */
export type Schema = Readonly<Record<string, unknown>>

/** How a value is entered. */
export type FieldPlan =
  | { readonly as: 'object'; readonly fields: readonly FieldSchema[] }
  | { readonly as: 'list'; readonly item: Schema; readonly min: number; readonly max: number }
  | { readonly as: 'choice'; readonly choices: readonly Choice[] }
  | { readonly as: 'boolean' }
  | { readonly as: 'number'; readonly isInteger: boolean }
  | {
      readonly as: 'text'
      readonly type: 'text' | 'date' | 'time' | 'email' | 'url' | 'datetime' | 'password' | 'long'
    }
  | { readonly as: 'json' }

export interface FieldSchema {
  readonly name: string
  readonly schema: Schema
  readonly isRequired: boolean
}

export interface Choice {
  readonly value: unknown
  readonly label: string
}

const FORMATS: Readonly<Record<string, 'date' | 'time' | 'email' | 'url' | 'datetime' | 'password'>> = {
  date: 'date',
  time: 'time',
  email: 'email',
  uri: 'url',
  'date-time': 'datetime',
  password: 'password'
}
const MAX_DEPTH = 6
/** Fields of an object, beyond which it is entered as JSON. */
const MAX_FIELDS = 60

/** Reads any value as a schema; what is none allows everything. */
export function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {}
}

/** Follows references within the schema; others allow everything. */
export function resolveSchema(schema: Schema, root: Schema, depth = 0): Schema {
  const reference = schema['$ref']
  if (typeof reference !== 'string' || depth > MAX_DEPTH) return schema
  if (!reference.startsWith('#')) return {}
  let found: unknown = root
  for (const step of reference.slice(1).split('/').filter(Boolean)) {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    found =
      typeof found === 'object' && found !== null && Object.hasOwn(found, key) ? (found as Schema)[key] : {}
  }
  return resolveSchema(asSchema(found), root, depth + 1)
}

/** Chooses how a value of a schema is entered. */
export function planField(schema: Schema, depth: number): FieldPlan {
  const choices = readChoices(schema)
  if (choices !== undefined) return { as: 'choice', choices }
  const type = typeOf(schema)
  if (type === 'boolean') return { as: 'boolean' }
  if (type === 'integer' || type === 'number') return { as: 'number', isInteger: type === 'integer' }
  if (type === 'string') return { as: 'text', type: textTypeOf(schema) }
  if (depth >= MAX_DEPTH) return { as: 'json' }
  if (type === 'array' && schema['items'] !== undefined) {
    const { minItems, maxItems } = schema
    const min = typeof minItems === 'number' ? Math.min(minItems, 100) : 0
    return {
      as: 'list',
      item: asSchema(schema['items']),
      min,
      max: typeof maxItems === 'number' ? maxItems : 100
    }
  }
  const fields = Object.entries(asSchema(schema['properties']))
  if (type === 'object' && fields.length > 0 && fields.length <= MAX_FIELDS) {
    const required = Array.isArray(schema['required']) ? schema['required'] : []
    return {
      as: 'object',
      fields: fields.map(([name, field]) => ({
        name,
        schema: asSchema(field),
        isRequired: required.includes(name)
      }))
    }
  }
  return { as: 'json' }
}

/** The value that a form begins with; undefined for none. */
export function initialOf(given: Schema, root: Schema = given, depth = 0): unknown {
  const schema = resolveSchema(given, root)
  if (schema['default'] !== undefined) return schema['default']
  if (schema['const'] !== undefined) return schema['const']
  const plan = planField(schema, depth)
  if (plan.as === 'boolean') return false
  if (plan.as === 'list') return Array.from({ length: plan.min }, () => initialOf(plan.item, root, depth + 1))
  if (plan.as !== 'object') return undefined
  const entries = plan.fields.flatMap(({ name, schema: field, isRequired }) => {
    const value =
      isRequired || asSchema(field)['default'] !== undefined ? initialOf(field, root, depth + 1) : undefined
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(entries)
}

function typeOf({ type, properties }: Schema): unknown {
  if (typeof type === 'string') return type
  if (Array.isArray(type)) {
    const [only, ...others] = type.filter((each) => each !== 'null')
    return others.length === 0 ? only : undefined
  }
  return properties === undefined ? undefined : 'object'
}

function readChoices(schema: Schema): Choice[] | undefined {
  const { enum: values, anyOf, oneOf } = schema
  if (Array.isArray(values) && values.length > 0 && values.length <= 500)
    return values.map((value: unknown) => ({ value, label: labelOf(value) }))
  const options = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : []
  const constants = options.map(asSchema)
  if (constants.length === 0 || !constants.every((each) => each['const'] !== undefined)) return undefined
  return constants.map(({ const: value, title }) => ({
    value,
    label: typeof title === 'string' ? title : labelOf(value)
  }))
}

const labelOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

function textTypeOf({ format, maxLength, contentMediaType, writeOnly }: Schema) {
  if (typeof format === 'string' && Object.hasOwn(FORMATS, format)) return FORMATS[format]!
  if (writeOnly === true) return 'password'
  if (contentMediaType !== undefined || (typeof maxLength === 'number' && maxLength > 300)) return 'long'
  return 'text'
}
