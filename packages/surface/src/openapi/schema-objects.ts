import type { Schema } from './open-api-document.ts'

const COMPONENT_NAME = /^[A-Z][A-Za-z0-9]*$/
/** The keywords that OpenAPI 3.0 shares with JSON Schema, and whose values are no schemas. */
const SHARED = new Set([
  'title',
  'description',
  'type',
  'format',
  'default',
  'example',
  'enum',
  'nullable',
  'discriminator',
  'multipleOf',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'required',
  'readOnly',
  'writeOnly',
  'deprecated',
  'externalDocs',
  '$ref'
])
/** `null` where a schema says nothing else: OpenAPI 3.0 has no type for it. */
const NULL: Schema = { type: 'string', nullable: true, enum: [null] }

type Json = Readonly<Record<string, unknown>>

/**
 * Converts JSON Schemas to Schema Objects of OpenAPI 3.0. A schema whose `title` is a name in PascalCase becomes a component, and a
 * reference to it. Keywords that OpenAPI 3.0 lacks are expressed by others (`const`, `type: 'null'`, `patternProperties`), or left out
 * where they only restrict.
 */
export class SchemaObjects {
  readonly #components = new Map<string, Schema>()
  readonly #examples: Readonly<Record<string, object>>

  /** @param examples of components, by their name */
  constructor(examples: Readonly<Record<string, object>> = {}) {
    this.#examples = examples
  }

  /** The components so far, by name. */
  get components(): Record<string, Schema> {
    return Object.fromEntries([...this.#components].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** @throws Error if two different schemas share a title */
  convert(given: unknown): Schema {
    if (typeof given !== 'object' || given === null) return given === false ? { not: {} } : {}
    const json = given as Json
    const { title } = json
    const schema = this.#withMapping(this.#toSchema(json))
    return typeof title === 'string' && COMPONENT_NAME.test(title)
      ? this.#addComponent(title, schema)
      : schema
  }

  /** The component that a schema refers to, or the schema itself. */
  resolve(schema: Schema): Schema {
    return (schema.$ref !== undefined && this.#components.get(nameIn(schema.$ref))) || schema
  }

  #toSchema(json: Json): Schema {
    const { type } = json
    if (Array.isArray(type) && type.length !== 1)
      return this.#toSchema({
        ...json,
        type: undefined,
        anyOf: type.map((each) => ({ type: each as unknown }))
      })
    const schema: Schema = {}
    for (const [key, value] of Object.entries(json))
      if (value !== undefined && (SHARED.has(key) || key.startsWith('x-')))
        schema[key] = structuredClone(value)
    if (Array.isArray(type)) schema['type'] = type[0]
    addExample(schema, json)
    addBounds(schema, json)
    this.#addChildren(schema, json)
    if (schema['type'] === 'array') schema['items'] ??= {}
    if ((json['required'] as unknown[] | undefined)?.length === 0) delete schema['required']
    if (json['const'] !== undefined) addConstant(schema, json['const'])
    if (schema['type'] === 'null') Object.assign(schema, NULL)
    return joinUnions(schema)
  }

  #addChildren(schema: Schema, json: Json): void {
    const { properties, items, prefixItems, patternProperties, additionalProperties, not } = json
    if (isJson(properties)) schema.properties = mapValues(properties, (each) => this.convert(each))
    for (const key of ['allOf', 'anyOf', 'oneOf'] as const) {
      const all = json[key]
      if (Array.isArray(all)) schema[key] = all.map((each) => this.convert(each))
    }
    if (not !== undefined) schema['not'] = this.convert(not)
    const tuple = [prefixItems, items].find(Array.isArray)
    if (tuple !== undefined) schema['items'] = { anyOf: tuple.map((each) => this.convert(each)) }
    else if (items !== undefined) schema['items'] = this.convert(items)
    // The names of properties cannot be restricted.
    const patterns = isJson(patternProperties) ? Object.values(patternProperties) : []
    const others = [...patterns, ...(isJson(additionalProperties) ? [additionalProperties] : [])]
    const values = others.map((each) => this.convert(each))
    if (values.length > 0)
      schema['additionalProperties'] = values.length === 1 ? values[0] : { anyOf: values }
    else if (typeof additionalProperties === 'boolean') schema['additionalProperties'] = additionalProperties
  }

  #addComponent(name: string, { title: _title, ...schema }: Schema): Schema {
    const known = this.#components.get(name)
    const example = this.#examples[name]
    if (example !== undefined) schema['example'] = example
    if (known === undefined) this.#components.set(name, schema)
    else if (JSON.stringify(known) !== JSON.stringify(schema))
      throw new Error(`Two schemas with the title "${name}" differ`)
    return { $ref: refTo(name) }
  }

  // With the value of the property in each variant, for generators.
  #withMapping(schema: Schema): Schema {
    const { discriminator, oneOf } = schema
    if (discriminator === undefined || oneOf === undefined) return schema
    const { propertyName } = discriminator
    const mapping = Object.fromEntries(
      oneOf.map((each) => [this.resolve(each).properties?.[propertyName]?.enum?.[0], each.$ref])
    )
    return { ...schema, discriminator: { propertyName, mapping } }
  }
}

/** The reference to a component schema. */
export function refTo(name: string): string {
  return `#/components/schemas/${name}`
}

function nameIn(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}

function addExample(schema: Schema, { examples }: Json): void {
  if (Array.isArray(examples) && examples.length > 0) schema['example'] ??= examples[0]
}

// Bounds that exclude their value are booleans beside it.
function addBounds(schema: Schema, json: Json): void {
  for (const [exclusive, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum']
  ] as const)
    if (typeof json[exclusive] === 'number')
      Object.assign(schema, { [bound]: json[exclusive], [exclusive]: true })
  if (json['contentEncoding'] !== undefined) schema['format'] ??= 'byte'
}

function addConstant(schema: Schema, value: unknown): void {
  if (value === null) Object.assign(schema, NULL)
  else {
    schema['type'] ??= Array.isArray(value) ? 'array' : typeof value
    schema.enum = [value]
  }
}

/** Joins constants of one type to an enum; `null` becomes `nullable` on one of the other variants. */
function joinUnions(schema: Schema): Schema {
  for (const key of ['anyOf', 'oneOf'] as const) {
    const { [key]: all, ...rest } = schema
    if (all === undefined) continue
    const others = all.filter((each) => !isNull(each))
    const variants = joinConstants(others)
    const hasNull = others.length < all.length
    if (variants === others && !hasNull) continue
    const [only] = variants
    if (only === undefined) return { ...rest, ...NULL }
    // What surrounds the union describes it better than its variant does.
    const isPlain = variants.length === 1 && only.$ref === undefined
    const joined: Schema = isPlain ? { ...only, ...rest } : { ...rest, [key]: variants }
    return hasNull ? orNull(joined, key) : joined
  }
  return schema
}

function joinConstants(variants: Schema[]): Schema[] {
  const [first] = variants
  const areConstants = variants.every((each) => isConstant(each) && each['type'] === first?.['type'])
  if (!areConstants || variants.length < 2) return variants
  return [{ type: first!['type'], enum: variants.flatMap((each) => each.enum ?? []) }]
}

function isConstant(schema: Schema): boolean {
  return schema.enum !== undefined && schema['type'] !== undefined && Object.keys(schema).length === 2
}

function isNull({ type, nullable, enum: values }: Schema): boolean {
  return type === 'string' && nullable === true && values?.length === 1 && values[0] === null
}

// `nullable` has an effect beside a `type` only.
function orNull(schema: Schema, key: 'anyOf' | 'oneOf'): Schema {
  if (schema['type'] !== undefined) return withNull(schema)
  const { [key]: variants = [schema], ...rest } = schema
  const index = variants.findIndex((each) => each['type'] !== undefined)
  const all = index === -1 ? [...variants, NULL] : variants.with(index, withNull(variants[index]!))
  return variants[0] === schema ? { [key]: all } : { ...rest, [key]: all }
}

// An enum lists `null` too.
function withNull(schema: Schema): Schema {
  const values = schema.enum
  return { ...schema, nullable: true, ...(values && !values.includes(null) && { enum: [...values, null] }) }
}

function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function mapValues<To>(of: Json, change: (value: unknown) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(of).map(([key, value]) => [key, change(value)]))
}
