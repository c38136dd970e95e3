import { Ajv, type ErrorObject } from 'ajv'
import formats from 'ajv-formats'

/** What is wrong with a value, with the path of each fault; undefined when it fits. Never changes it. */
export type CheckValue = (value: unknown) => string | undefined

const MOST_FAULTS = 5
const AJV_OPTIONS = {
  strict: false,
  allErrors: true,
  logger: false,
  meta: false,
  validateSchema: false
} as const

/** Compiles a JSON Schema; `subject` is what faults of a whole value are told of. @throws what `toError` makes */
export function compileSchema(
  schema: Record<string, unknown>,
  subject: string,
  toError: (fault: string) => Error
): CheckValue {
  try {
    // A shared one would mix up the `$id`s of schemas, and hold those of short-lived ones for ever.
    const check = formats.default(new Ajv(AJV_OPTIONS)).compile(schema)
    return (value) =>
      check(value)
        ? undefined
        : (check.errors ?? [])
            .slice(0, MOST_FAULTS)
            .map((error) => describe(error, subject))
            .join('; ')
  } catch (err) {
    throw toError((err as Error).message)
  }
}

function describe(
  { instancePath, message = 'is bad', keyword, params }: ErrorObject,
  subject: string
): string {
  const path = instancePath.slice(1).replaceAll('/', '.')
  const extra = keyword === 'additionalProperties' ? ` ("${String(params['additionalProperty'])}")` : ''
  const values = keyword === 'enum' ? `: ${JSON.stringify(params['allowedValues'])}` : ''
  return `${path === '' ? subject : path} ${message}${extra}${values}`
}
