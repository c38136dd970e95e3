import type { JSONSchema7, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { isPromise, type Awaitable } from '@svc/contract'
import { RUN_ERR_BAD_AGENT, RUN_ERR_BAD_OUTPUT } from '../errors.ts'
import { readJson } from '../json/parse-json.ts'
import { toJson } from '../json/to-json.ts'
import { compileSchema, type Validated } from '../schemas/compile-schema.ts'
import { isStandard, toOutputSchema, type PlainSchema } from '../schemas/plain-schema.ts'
import type { Schema } from '../schemas/schema.ts'
import { closeObjects } from './close-objects.ts'

/** The form of an agent's answers. */
export interface OutputFormat {
  /** The JSON Schema of the structured answer. */
  readonly schema: PlainSchema
  /** For the provider's JSON mode. */
  readonly responseFormat: NonNullable<LanguageModelV4CallOptions['responseFormat']>
  /** Reads an answer: its value, validated and transformed, or its faults. */
  read(text: string): Awaitable<Validated>
  /** Asks the model to correct its answer. */
  correction(fault: string): string
}

/** @throws RUN_ERR_BAD_AGENT if `output` is not a schema */
export function createOutputFormat(output: Schema): OutputFormat {
  const { plain, validate } = compileSchema(
    output,
    'the answer',
    (fault) => new RUN_ERR_BAD_AGENT(`the output ${fault}`)
  )
  const forModel = closeObjects(plain) as JSONSchema7
  return {
    schema: toOutputSchema(output, plain),
    responseFormat: { type: 'json', schema: forModel, name: 'answer' },
    read(text) {
      const value = readJson(text)
      if (value === undefined) return { fault: 'it is no JSON' }
      const validated = validate(value)
      if (!isStandard(output)) return validated
      return isPromise(validated) ? validated.then(requireJson) : requireJson(validated)
    },
    correction: (fault) =>
      `Your answer cannot be used: ${fault}. Answer again with nothing but JSON that fits this JSON Schema:\n${JSON.stringify(forModel)}`
  }
}

/** Checks the answers of one run; the model may correct an answer once. */
export class OutputCheck {
  readonly #format: OutputFormat
  #isCorrected = false
  /** The value of the valid answer. */
  value: unknown

  constructor(format: OutputFormat) {
    this.#format = format
  }

  /** The correction to ask for; undefined for a valid answer. @throws RUN_ERR_BAD_OUTPUT the second time */
  async check(text: string): Promise<string | undefined> {
    const { fault, ...valid } = await this.#format.read(text)
    if (fault === undefined) {
      this.value = (valid as { value: unknown }).value
      return undefined
    }
    if (this.#isCorrected) throw new RUN_ERR_BAD_OUTPUT(fault)
    this.#isCorrected = true
    return this.#format.correction(fault)
  }
}

// A transform may yield anything; logs and sessions take JSON.
function requireJson(validated: Validated): Validated {
  if (validated.fault !== undefined) return validated
  const name = findChanged(validated.value)
  if (name !== undefined)
    throw new RUN_ERR_BAD_OUTPUT(`the schema transforms to a ${name}, which JSON cannot carry`)
  toJson(validated.value, (fault, cause) => Object.assign(new RUN_ERR_BAD_OUTPUT(fault), { cause }))
  return validated
}

// The first object that JSON would turn into something else than its type says.
function findChanged(value: unknown, seen = new Set<object>()): string | undefined {
  if (typeof value !== 'object' || value === null || seen.has(value)) return undefined
  seen.add(value)
  const isChanged = value instanceof Map || value instanceof Set || 'toJSON' in value
  if (isChanged) return value.constructor.name
  for (const member of Object.values(value)) {
    const name = findChanged(member, seen)
    if (name !== undefined) return name
  }
  return undefined
}
