import { Ajv, type ErrorObject } from 'ajv'
import formats from 'ajv-formats'
import { RUN_ERR_BAD_TOOL } from '../errors.ts'

/** What is wrong with arguments, with the path of each fault; undefined when they fit. Never changes them. */
export type CheckInput = (args: unknown) => string | undefined

const MOST_FAULTS = 5
const AJV_OPTIONS = {
  strict: false,
  allErrors: true,
  logger: false,
  meta: false,
  validateSchema: false
} as const

/** Compiles the schema of a tool's arguments. @throws RUN_ERR_BAD_TOOL when it is no JSON Schema of an object */
export function compileInput(name: string, schema: Record<string, unknown>): CheckInput {
  if (schema['type'] !== 'object')
    throw new RUN_ERR_BAD_TOOL(`the input of "${name}" is no schema of an object`)
  try {
    // A shared one would mix up the `$id`s of tools, and hold the schemas of short-lived ones for ever.
    const check = formats.default(new Ajv(AJV_OPTIONS)).compile(schema)
    return (args) =>
      check(args) ? undefined : (check.errors ?? []).slice(0, MOST_FAULTS).map(describe).join('; ')
  } catch (err) {
    throw new RUN_ERR_BAD_TOOL(`the input of "${name}": ${(err as Error).message}`)
  }
}

function describe({ instancePath, message = 'is bad', keyword, params }: ErrorObject): string {
  const path = instancePath.slice(1).replaceAll('/', '.')
  const extra = keyword === 'additionalProperties' ? ` ("${String(params['additionalProperty'])}")` : ''
  const values = keyword === 'enum' ? `: ${JSON.stringify(params['allowedValues'])}` : ''
  return `${path === '' ? 'the arguments' : path} ${message}${extra}${values}`
}
