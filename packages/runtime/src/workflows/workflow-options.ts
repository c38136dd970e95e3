import { Type, type TSchema } from '@sinclair/typebox'
import type { MessageInput, RunInput } from '@svc/contract'
import { functionSchema, optional, strict } from '../loop/model-options.ts'
import { BASE_OPTIONS, type BaseOptions } from '../runnables/base-runnable.ts'
import type { Schema, SchemaInput, SchemaOutput } from '../schemas/compile-schema.ts'
import type { Flow } from './flow.ts'

/** The input the steps of a workflow see: validated and transformed by its schema, or a message. */
export type InputOf<Input extends Schema> = Schema extends Input ? MessageInput : SchemaOutput<Input>
/** The input a workflow accepts. */
export type GivenInput<Input extends Schema> = Schema extends Input ? RunInput : SchemaInput<Input>
/** A workflow before its first step. */
export type NewFlow<Input extends Schema> = Flow<InputOf<Input>, object, InputOf<Input>>
/** The last output of a workflow: any, or one its `output` accepts. */
export type LastOutput<Output extends Schema> = Schema extends Output ? unknown : SchemaInput<Output>

/** The options of a workflow. */
export interface WorkflowOptions<
  Input extends Schema = Schema,
  Output extends Schema = Schema,
  Last extends LastOutput<Output> = LastOutput<Output>
> extends BaseOptions {
  /** The schema of its input, validated before the first step, which gets it transformed; default: a message. */
  input?: Input
  /** The schema of its output, validated after the last step; default: any JSON. */
  output?: Output
  /** Builds the steps: called once with an empty flow, returns the flow of the last method. */
  steps: (flow: NewFlow<Input>) => {
    readonly nodes: Flow<never, never, unknown>['nodes']
    readonly previous: Last
  }
}

export const WorkflowOptionsSchema = Type.Object(
  {
    ...BASE_OPTIONS,
    input: optional(Type.Any()),
    output: optional(Type.Any()),
    steps: functionSchema
  } satisfies Record<keyof WorkflowOptions, TSchema>,
  strict
)
