import { Type, type TSchema } from '@sinclair/typebox'
import {
  millisecondsSchema,
  requireName,
  requireOptions,
  type MessageInput,
  type RunInput
} from '@svc/contract'
import { nameOf, prefixedError, prefixErrors } from '../checks/option-errors.ts'
import { RUN_ERR_BAD_WORKFLOW } from '../errors.ts'
import { functionSchema, optional, strict } from '../loop/model-options.ts'
import { RetrySchema } from '../models/call-report.ts'
import {
  planMiddleware,
  UseSchema,
  type Middleware,
  type PlannedMiddleware
} from '../middleware/middleware.ts'
import { BASE_OPTIONS, type BaseOptions } from '../runnables/base-runnable.ts'
import {
  compileSchema,
  isStandard,
  toInputSchema,
  toOutputSchema,
  type PlainSchema,
  type Schema,
  type SchemaInput,
  type SchemaOutput,
  type Validate
} from '../schemas/compile-schema.ts'
import { Flow, type AnyFlow, type FlowNode } from './flow.ts'

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
  /** Hooks around its runs and its steps, within those of the app. At most 32. */
  use?: readonly Middleware[]
  /** Builds the steps: called once with an empty flow, returns the flow of the last method. */
  steps: (flow: NewFlow<Input>) => {
    readonly nodes: Flow<never, never, unknown>['nodes']
    readonly previous: Last
  }
}

const WorkflowOptionsSchema = Type.Object(
  {
    ...BASE_OPTIONS,
    input: optional(Type.Any()),
    output: optional(Type.Any()),
    use: optional(UseSchema),
    steps: functionSchema
  } satisfies Record<keyof WorkflowOptions, TSchema>,
  strict
)

const attempting = {
  retry: optional(RetrySchema),
  timeout: optional(millisecondsSchema('For one attempt; default: none'))
}

const NODE_SCHEMAS: Readonly<Record<FlowNode['type'], TSchema>> = {
  function: Type.Object({ options: Type.Object(attempting, strict) }),
  runnable: Type.Object({
    options: Type.Object(
      {
        ...attempting,
        from: Type.Optional(Type.String()),
        input: Type.Optional(functionSchema),
        output: Type.Optional(Type.Any())
      },
      strict
    )
  }),
  parallel: Type.Object({ flows: Type.Object({}) }),
  branch: Type.Object({ choose: functionSchema, flows: Type.Object({}) }),
  loop: Type.Object({
    options: Type.Object(
      { until: functionSchema, maxRounds: Type.Optional(Type.Integer({ minimum: 1 })) },
      strict
    )
  }),
  map: Type.Object({
    items: functionSchema,
    options: Type.Object({ concurrency: Type.Optional(Type.Integer({ minimum: 1 })) }, strict)
  }),
  wait: Type.Object({
    options: Type.Union([
      Type.Object({ sleep: Type.Union([Type.Number({ minimum: 0 }), functionSchema]) }, strict),
      Type.Object(
        {
          approval: Type.Object(
            {
              args: Type.Optional(functionSchema),
              toolName: Type.Optional(Type.String({ minLength: 1 })),
              timeout: Type.Optional(millisecondsSchema('Until it counts as denied; default 300,000')),
              denied: Type.Optional(Type.Union([Type.Literal('fail'), Type.Literal('continue')]))
            },
            strict
          )
        },
        strict
      )
    ])
  })
}

/** The declared input of a workflow. */
export interface WorkflowInput {
  readonly schema: TSchema
  /** Set for a Standard Schema, which may transform. */
  readonly validate: Validate | undefined
}

/** The declared output of a workflow or step. */
export interface WorkflowOutput {
  readonly schema: PlainSchema
  readonly validate: Validate
}

/** The plan that all runs of a workflow share. */
export interface WorkflowPlan {
  readonly name: string
  readonly input: WorkflowInput | undefined
  readonly output: WorkflowOutput | undefined
  readonly flow: AnyFlow
  readonly use: readonly PlannedMiddleware[]
  /** The names of all steps, nested ones included. */
  readonly steps: readonly string[]
}

// Options of a workflow of any types.
interface GivenOptions extends BaseOptions {
  readonly input?: Schema
  readonly output?: Schema
  readonly use?: readonly Middleware[]
  readonly steps: (flow: never) => unknown
}

/** Checks a workflow. @throws RUN_ERR_BAD_WORKFLOW, RUN_ERR_BAD_MIDDLEWARE, REG_ERR_BAD_…, which name the workflow; errors of `steps` */
export function planWorkflow(options: GivenOptions): WorkflowPlan {
  return prefixErrors(nameOf('workflow', options), () => toPlan(options))
}

function toPlan(options: GivenOptions): WorkflowPlan {
  requireOptions(WorkflowOptionsSchema, options, RUN_ERR_BAD_WORKFLOW)
  const name = requireName(options.name)
  const input = planInput(options.input)
  const output = planOutput(options.output, 'output')
  const flow: unknown = options.steps(new Flow() as never)
  requireFlow(flow, 'steps')
  requireThat(flow.nodes.length > 0, 'steps: at least one is required')
  const nodes = [...walk(flow)]
  const steps = nodes.map((node) => requireName(node.name))
  const names = new Set<string>()
  for (const each of steps) {
    requireThat(!names.has(each), `duplicate step "${each}"`)
    names.add(each)
  }
  for (const node of nodes) requireNode(node)
  requireSources(flow, names, new Set())
  return { name, input, output, flow, use: planMiddleware(options.use), steps }
}

function* walk(flow: AnyFlow): Generator<FlowNode> {
  for (const node of flow.nodes) {
    yield node
    for (const [label, inner] of innerFlows(node)) {
      requireFlow(inner, `${node.name}/${label}`)
      yield* walk(inner)
    }
  }
}

function innerFlows(node: FlowNode): [label: string, flow: AnyFlow][] {
  if ('flow' in node) return [[node.type, node.flow]]
  if (!('flows' in node)) return []
  requireThat(typeof node.flows === 'object' && node.flows !== null, `${node.name}: returns no flows`)
  return Object.entries(node.flows)
}

function requireNode(node: FlowNode): void {
  requireOptions(NODE_SCHEMAS[node.type], node, prefixedError(node.name, RUN_ERR_BAD_WORKFLOW))
  if ('flows' in node)
    requireThat(Object.keys(node.flows).length > 0, `${node.name}: at least one flow is required`)
}

// The source of a step must come before it, in its own flow or an enclosing one.
function requireSources(flow: AnyFlow, all: ReadonlySet<string>, before: ReadonlySet<string>): void {
  const known = new Set(before)
  for (const node of flow.nodes) {
    const from = node.type === 'runnable' ? node.options.from : undefined
    if (from !== undefined && !known.has(from)) {
      requireThat(all.has(from), `${node.name}/from: unknown step "${from}"`)
      requireThat(from !== node.name, `${node.name}/from: a cycle, the step would wait for itself`)
      requireThat(
        false,
        `${node.name}/from: a cycle or another branch, "${from}" does not come before the step`
      )
    }
    for (const [, inner] of innerFlows(node)) requireSources(inner, all, known)
    known.add(node.name)
  }
}

function requireFlow(value: unknown, where: string): asserts value is AnyFlow {
  const { nodes } = (value ?? {}) as Partial<AnyFlow>
  requireThat(Array.isArray(nodes), `${where}: returns no flow; return the result of the last method`)
}

const badInput = (fault: string) => new RUN_ERR_BAD_WORKFLOW(`input ${fault}`)

function planInput(schema: Schema | undefined): WorkflowInput | undefined {
  if (schema === undefined) return undefined
  return {
    schema: toInputSchema(schema, badInput),
    validate: isStandard(schema) ? compileSchema(schema, 'the input', badInput).validate : undefined
  }
}

function planOutput(schema: Schema | undefined, where: string): WorkflowOutput | undefined {
  if (schema === undefined) return undefined
  const { plain, validate } = compileSchema(
    schema,
    'the output',
    (fault) => new RUN_ERR_BAD_WORKFLOW(`${where} ${fault}`)
  )
  return { schema: toOutputSchema(schema, plain), validate }
}

function requireThat(condition: boolean, fault: string): asserts condition {
  if (!condition) throw new RUN_ERR_BAD_WORKFLOW(fault)
}
