import type { JSONSchema7, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { TSchema } from '@sinclair/typebox'
import { RUN_ERR_BAD_AGENT } from '../errors.ts'
import { compileSchema } from '../tools/compile-schema.ts'
import { toPlainSchema, type JsonSchema } from '../tools/plain-schema.ts'
import { readJson } from '../json/parse-json.ts'

/** What the answers of an agent have to be. */
export interface OutputFormat {
  /** The schema as plain JSON. */
  readonly schema: Readonly<Record<string, unknown>>
  /** For the provider's JSON mode. */
  readonly responseFormat: NonNullable<LanguageModelV4CallOptions['responseFormat']>
  /** The value of an answer, or what is wrong with it. */
  read(text: string): { value: unknown } | { fault: string }
  /** What the model is told to mend its answer. */
  askToMend(fault: string): string
}

/** @throws RUN_ERR_BAD_AGENT when `output` is no JSON Schema */
export function createOutputFormat(output: TSchema | JsonSchema): OutputFormat {
  const schema = toPlainSchema(output, (fault) => new RUN_ERR_BAD_AGENT(`the output ${fault}`))
  const check = compileSchema(schema, 'the answer', (fault) => new RUN_ERR_BAD_AGENT(`output: ${fault}`))
  const forModel = closeObjects(schema) as JSONSchema7
  return {
    schema,
    responseFormat: { type: 'json', schema: forModel, name: 'answer' },
    read(text) {
      const value = readJson(text)
      if (value === undefined) return { fault: 'it is no JSON' }
      const fault = check(value)
      return fault === undefined ? { value } : { fault }
    },
    askToMend: (fault) =>
      `Your answer cannot be used: ${fault}. Answer again with nothing but JSON that fits this JSON Schema:\n${JSON.stringify(forModel)}`
  }
}

// Strict JSON modes take objects only that say they have no other properties.
function closeObjects(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closeObjects)
  if (typeof schema !== 'object' || schema === null) return schema
  const {
    const: constant,
    enum: values,
    default: initial,
    examples,
    ...rest
  } = schema as Record<string, unknown>
  const closed = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, closeObjects(value)]))
  if (closed['type'] === 'object' && closed['properties'] !== undefined)
    closed['additionalProperties'] ??= false
  const kept = Object.entries({ const: constant, enum: values, default: initial, examples })
  return { ...closed, ...Object.fromEntries(kept.filter(([, value]) => value !== undefined)) }
}
