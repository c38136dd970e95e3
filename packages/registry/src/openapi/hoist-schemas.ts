import type { Schema } from './open-api-document.ts'

const COMPONENT_NAME = /^[A-Z][A-Za-z0-9]*$/
// Keywords with data, not schemas.
const DATA = new Set(['example', 'examples', 'enum', 'mapping', 'headers'])

/** Components of a document, by name. */
export type Components = Map<string, Schema>

/**
 * Returns a copy of part of a document in which every schema whose `title` is a valid name is a `$ref` into `components`.
 * Unions of literals become an `enum`, discriminators get their `mapping`.
 * @param examples of components, by their name
 * @throws Error if two different schemas share a title
 */
export function hoistSchemas<T>(
  part: T,
  components: Components,
  examples: Readonly<Record<string, object>> = {}
): T {
  return hoist(part) as T

  function hoist(node: unknown): unknown {
    if (Array.isArray(node)) return node.map(hoist)
    if (typeof node !== 'object' || node === null) return node
    const copy = Object.fromEntries(
      Object.entries(node).map(([key, value]) => [key, DATA.has(key) ? value : hoist(value)])
    )
    const schema = withMapping(toEnum(copy), components)
    return typeof schema.title === 'string' && COMPONENT_NAME.test(schema.title)
      ? addComponent(schema.title, schema, examples[schema.title], components)
      : schema
  }
}

function addComponent(
  name: string,
  { title: _title, ...schema }: Schema,
  example: object | undefined,
  components: Components
): Schema {
  const known = components.get(name)
  if (example !== undefined) schema['example'] = example
  if (known === undefined) components.set(name, schema)
  else if (JSON.stringify(known) !== JSON.stringify(schema))
    throw new Error(`Two schemas with the title "${name}" differ`)
  return { $ref: refTo(name) }
}

// TypeBox writes an enum as a union of literals.
function toEnum({ anyOf, ...rest }: Schema): Schema {
  const values = anyOf?.flatMap((each) => (isLiteral(each) ? each.enum : []))
  if (anyOf === undefined || values?.length !== anyOf.length) return anyOf ? { ...rest, anyOf } : rest
  return { type: 'string', enum: values, ...rest }
}

function isLiteral(schema: Schema): schema is Schema & { enum: unknown[] } {
  return schema.enum?.length === 1 && schema['type'] === 'string' && Object.keys(schema).length === 2
}

function withMapping(schema: Schema, components: Components): Schema {
  const { discriminator, oneOf } = schema
  if (discriminator === undefined || oneOf === undefined) return schema
  const { propertyName } = discriminator
  const mapping = Object.fromEntries(
    oneOf.map(({ $ref = '' }) => [components.get(nameIn($ref))?.properties?.[propertyName]?.enum?.[0], $ref])
  )
  return { ...schema, discriminator: { propertyName, mapping } }
}

/** The reference to a component schema. */
export function refTo(name: string): string {
  return `#/components/schemas/${name}`
}

/** The component that a schema refers to, if it is a reference. */
export function componentOf({ $ref }: Schema, components: Components): Schema | undefined {
  return $ref === undefined ? undefined : components.get(nameIn($ref))
}

function nameIn(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}
