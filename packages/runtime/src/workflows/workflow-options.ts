import type { Static, TSchema } from '@sinclair/typebox'
import type { MessageInput, Registry } from '@svc/registry'
import type { Flow } from './flow.ts'

/** What a workflow takes: what its schema says, or a message. */
export type InputOf<S extends TSchema> = TSchema extends S ? MessageInput : Static<S>
/** A workflow before its first step. */
export type NewFlow<S extends TSchema> = Flow<InputOf<S>, object, InputOf<S>>

/** What a workflow is made from. */
export interface WorkflowOptions<S extends TSchema = TSchema> {
  /** 1–128 characters; unique among the workflows of its registry. */
  name: string
  /** Shown to clients. */
  description?: string
  /** What it takes; default: a message. */
  input?: S
  /** Builds its steps: called once, with an empty flow, and gives what the last method of it gave. */
  steps: (flow: NewFlow<S>) => Pick<Flow<InputOf<S>, never, unknown>, 'nodes' | 'previous'>
  register?: boolean
  registry?: Registry
  /** Replaces the workflow that has its name. */
  replace?: boolean
}
