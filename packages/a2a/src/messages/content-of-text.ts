/** What a text says as the content of an answer. */
export interface TextContent {
  readonly content: unknown
}

/**
 * The content that a text gives to a question with this schema. Where only texts fit, or anything does, it is the text itself, which may
 * not fit. Else it is the first of these that fits, or undefined: the text, what it is as JSON, yes or no as a boolean, and each of
 * them as the only property that an object may have.
 */
export async function contentOfText(text: string, schema: unknown): Promise<TextContent | undefined> {
  if (isTextual(schema)) return { content: text }
  // Loaded lazily: few services need its pattern engine.
  const { compileForeignSchema } = await import('@svc/registry/schemas')
  const { check } = compileForeignSchema(schema)
  const readings = readingsOf(text)
  const name = onlyPropertyOf(schema)
  const all = name === undefined ? readings : [...readings, ...readings.map((value) => ({ [name]: value }))]
  const content = all.find((value) => check(value) === undefined)
  return content === undefined ? undefined : { content }
}

const WORDS = new Map<string, boolean>([
  ['yes', true],
  ['no', false],
  ['true', true],
  ['false', false]
])

function readingsOf(text: string): unknown[] {
  const readings: unknown[] = [text]
  try {
    readings.push(JSON.parse(text))
  } catch {}
  const word = WORDS.get(text.trim().toLowerCase())
  if (word !== undefined) readings.push(word)
  return readings
}

function onlyPropertyOf(schema: unknown): string | undefined {
  const { type, properties } = schema as { type?: unknown; properties?: unknown }
  if (type !== 'object' || typeof properties !== 'object' || properties === null) return undefined
  const [name, another] = Object.keys(properties)
  return another === undefined && name !== '__proto__' ? name : undefined
}

/** True if all values that fit a schema are texts, or if there is no schema. */
function isTextual(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return schema === undefined || schema === true
  const { type, const: only, enum: some, anyOf, oneOf } = schema as Record<string, unknown>
  const branches = anyOf ?? oneOf
  return (
    type === 'string' ||
    typeof only === 'string' ||
    (Array.isArray(some) && some.every((each) => typeof each === 'string')) ||
    (Array.isArray(branches) && branches.every(isTextual))
  )
}
