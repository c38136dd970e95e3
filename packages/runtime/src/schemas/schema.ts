import type { JSONSchema7, JSONValue } from '@ai-sdk/provider'
import type { Static, TSchema } from '@sinclair/typebox'
import type { StandardSchemaV1 } from '@standard-schema/spec'

/** A plain JSON Schema; it carries no types. */
export type JsonSchema = JSONSchema7 | Readonly<Record<string, unknown>>

/**
 * A schema of tool arguments, outputs and inputs: TypeBox, a plain JSON Schema, or a Standard Schema (standardschema.dev) that
 * has a JSON Schema: Zod from 4.2, ArkType from 2.1.28, Valibot through `toStandardJsonSchema` of `@valibot/to-json-schema`.
 */
export type Schema = TSchema | StandardSchemaV1 | JsonSchema

/** The values a schema accepts, before its transforms. */
export type SchemaInput<S> = S extends TSchema
  ? Static<S>
  : S extends StandardSchemaV1
    ? StandardSchemaV1.InferInput<S>
    : JSONValue

/** The values a schema yields: validated and transformed. `unknown` for `Schema` itself. */
export type SchemaOutput<S> = S extends TSchema
  ? Static<S>
  : S extends StandardSchemaV1
    ? StandardSchemaV1.InferOutput<S>
    : JSONValue

/** Tool arguments by their schema: typed by TypeBox and Standard Schemas, a record of unknown values by JSON Schema. */
export type ArgsOf<S> = S extends TSchema | StandardSchemaV1
  ? SchemaOutput<S>
  : Readonly<Record<string, unknown>>
