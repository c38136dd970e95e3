import type { Runnable } from '@svc/contract'
import type { Validate } from '../schemas/compile-schema.ts'
import type { Schema } from '../schemas/schema.ts'
import type { Flow } from './flow.ts'
import type {
  ApprovalWaitOptions,
  FlowView,
  LoopOptions,
  MapOptions,
  RunnableStepOptions,
  SleepOptions,
  StepFunction,
  StepOptions
} from './step-options.ts'

/** A view of any types. */
export type AnyView = FlowView<unknown, Record<string, unknown>, unknown>
/** A flow of any types. */
// oxlint-disable-next-line typescript/no-explicit-any -- only the builder needs the types
export type AnyFlow = Flow<any, any, any>

/** One step of a workflow, ready to run. */
export type FlowNode = { readonly name: string } & (
  | {
      readonly type: 'function'
      readonly work: StepFunction<unknown, Record<string, unknown>, unknown, unknown>
      readonly options: StepOptions
    }
  | {
      readonly type: 'runnable'
      readonly runnable: Runnable
      /** Of the step's own `output`. */
      readonly validate: Validate | undefined
      readonly options: RunnableStepOptions<unknown, Record<string, unknown>, unknown, Schema>
    }
  | { readonly type: 'parallel'; readonly flows: Readonly<Record<string, AnyFlow>> }
  | {
      readonly type: 'branch'
      readonly choose: (view: AnyView) => unknown
      readonly flows: Readonly<Record<string, AnyFlow>>
    }
  | {
      readonly type: 'loop'
      readonly flow: AnyFlow
      readonly options: LoopOptions<unknown, Record<string, unknown>, unknown>
    }
  | {
      readonly type: 'map'
      readonly items: (view: AnyView) => unknown
      readonly flow: AnyFlow
      readonly options: MapOptions
    }
  | {
      readonly type: 'wait'
      readonly options:
        | SleepOptions<unknown, Record<string, unknown>, unknown>
        | ApprovalWaitOptions<unknown, Record<string, unknown>, unknown>
    }
)
