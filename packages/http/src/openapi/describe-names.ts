import { RUNNABLE_KINDS, type RunnableKind } from '@svc/contract'
import { refTo, type Exposed, type OpenApiDocument, type Operation, type Schema } from '@svc/surface'

/**
 * Returns a copy of a document with the current runnables: their names as the values of `:name`, if `named`, and the body
 * of their runs: `RunBody` if all of the kind accept a message, else `JsonRunBody`.
 */
export function describeNames(
  base: OpenApiDocument,
  exposed: Pick<Exposed, 'list'>,
  named: boolean
): OpenApiDocument {
  const document = structuredClone(base)
  const kinds = new Map(RUNNABLE_KINDS.map((kind) => [kind, exposed.list(kind)]))
  for (const [path, operations] of Object.entries(document.paths)) {
    const kind = RUNNABLE_KINDS.find((each) => path.includes(`/${each}s/{name}`))
    if (kind === undefined) continue
    const runnables = kinds.get(kind) ?? []
    const names = named ? runnables.map(({ name }) => name) : []
    const takesJson = kind === 'workflow' || runnables.some((each) => each.inputSchema !== undefined)
    for (const operation of Object.values(operations)) {
      nameThem(operation, kind, names)
      if (takesJson) takeJson(operation)
    }
  }
  return document
}

/** Splits the body of a run in two schemas, one for messages, one for any JSON: each requires an input or messages. */
export function addMessageInput(schemas: Record<string, Schema>): Record<string, Schema> {
  const { RunBody } = schemas
  if (RunBody === undefined) return schemas
  const { input: json } = RunBody.properties ?? {}
  const message = { $ref: refTo('MessageInput') }
  const split = {
    JsonRunBody: requireOneOf(RunBody, { input: json }),
    RunBody: requireOneOf(
      { ...RunBody, properties: { ...RunBody.properties, input: message } },
      { input: message }
    )
  }
  return { ...schemas, ...split }
}

/**
 * Returns the body of a run with what it must have: some input, or messages. Nested, since generators take an `anyOf` beside
 * `properties` for alternatives of them; with the properties, since they ignore a `required` alone.
 */
export function requireOneOf(body: Schema, inputs: Readonly<Record<string, Schema | undefined>>): Schema {
  const { messages } = body.properties ?? {}
  const anyOf = Object.entries({ ...inputs, messages }).map(([name, schema = {}]) => ({
    type: 'object',
    properties: { [name]: schema },
    required: [name]
  }))
  return { ...body, allOf: [{ anyOf }] }
}

function nameThem({ parameters = [] }: Operation, kind: RunnableKind, names: string[]): void {
  const schema = parameters.find((each) => each.in === 'path' && each.name === 'name')?.schema
  if (schema === undefined) return
  // An enum must not be empty.
  if (names.length > 0) schema.enum = names
  schema['example'] = names[0] ?? `some-${kind}`
}

function takeJson({ requestBody }: Operation): void {
  const media = requestBody?.content['application/json']
  if (media?.schema.$ref === refTo('RunBody')) media.schema = { $ref: refTo('JsonRunBody') }
}
