import type { NumberedPart, Registry, RunnableKind, Usage } from '@svc/registry'
import type { FastifyInstance } from 'fastify'

/** A run to start: a runnable and its input. */
export interface WireJob {
  readonly id: string
  readonly kind: RunnableKind
  readonly name: string
  readonly input: string
  /** The conversation that it continues; default: a new one. */
  readonly sessionId?: string | undefined
  /** True if the run calls `pick`, which its caller serves. */
  readonly callsClient: boolean
}

/** A run that a wire has started. */
export interface StartedRun {
  readonly runId: string
  readonly sessionId: string
  /** What the answer to the start reports; undefined if it ends before the run does. */
  readonly rest?: Promise<Partial<Report> | undefined>
}

/** A run as clients of other wires know it. */
export interface WireRun {
  readonly job: WireJob
  readonly runId: string
  readonly sessionId: string
  /** True if its session can be followed. */
  readonly hasSession: boolean
  /** Resolves with the `seq` of the last part once the log has one after `seq`, or has ended: for clients that ask again. */
  beyond(seq: number): Promise<number>
  /** How far the log has been read: the places where the run waited for inputs only, and where its last own step began (0: nowhere). */
  progress(): { readonly waits: readonly number[]; readonly lastStep: number; readonly isOver: boolean }
}

/** What a run waits for, and how it is answered. */
export interface Asked {
  readonly id: string
  readonly kind: 'approval' | 'question' | 'tool'
  readonly toolCallId: string | undefined
  readonly accept: boolean
  /** Of an accepted question or call. */
  readonly content?: unknown
  /** Of an approval that changes the arguments; wires that cannot change them leave it out. */
  readonly args?: object | undefined
}

/** A call of a tool. `outcome` is undefined for a call that a cancellation ended. */
export interface ReportedCall {
  readonly tool: string
  readonly args?: unknown
  readonly outcome?: { readonly result: unknown } | { readonly error: string } | 'denied' | undefined
}

/** What a client knows of a run that has ended. */
export interface Report {
  status: string
  /** Of a run that failed. */
  code: string | undefined
  /** Of a run that did not fail. */
  finishReason: string | undefined
  text: string
  /** Of a run that did not fail; null if there is none. */
  structured: unknown
  /** In the order of the log. */
  calls: ReportedCall[]
  /** The approvals and questions that the run waited for, sorted. */
  asked: string[]
  /** Of a run that did not fail. */
  usage: Usage | undefined
}

/**
 * What a wire may leave out by design. `args`, `editedArgs`, `order`, `outcomes`, `errors` and `resultTypes` are those of calls; `unendedEdits` are
 * edited arguments of calls that a cancellation ended, `failedCalls` calls without a result, `unendedCalls` those that their run has ended, and `steps` where the texts of steps end.
 */
export type Hideable =
  | keyof Report
  | 'args'
  | 'editedArgs'
  | 'unendedEdits'
  | 'order'
  | 'outcomes'
  | 'errors'
  | 'resultTypes'
  | 'failedCalls'
  | 'unendedCalls'
  | 'steps'

/** The acts of a client. */
export type Act = 'start' | 'watch' | 'answer' | 'cancel'

/** Clients of one wire. */
export interface Wire {
  readonly name: string
  /** What its clients do not get by design, with the reason. */
  readonly hides: Readonly<Partial<Record<Hideable, string>>>
  /** True if a run that it starts is answered by its own client alone, apart from client tools. Default false. */
  readonly answersItself?: boolean
  /** False if the conversation of the runs that it starts is kept by its client, so that no session has them. Default true. */
  readonly keepsTurns?: boolean
  /** True if its clients reach runs by their sessions only. Default false. */
  readonly needsSession?: boolean
  /** True if its clients answer as the plan of the run has it, whatever they are asked to. Default false. */
  readonly answersByPlan?: boolean
  /** True if the service takes its answers to a run one after another. Default false. */
  readonly answersInTurn?: boolean
  /** The error of an answer that comes after another one; default: it is passed over, and the client reads on. */
  readonly refusal?: RegExp
  /** Why its clients cannot do this by design; undefined: they can. */
  cannot?(act: Act, job: WireJob, asked?: Asked): string | undefined
  start(job: WireJob, variant: number): Promise<StartedRun>
  /**
   * Follows a run to its end.
   * @param variant a number from 0 to 1 that selects one of the ways to follow it
   * @returns undefined if the wire cannot show this run after its end, by design
   */
  watch(run: WireRun, isLate: boolean, variant: number): Promise<Partial<Report> | undefined>
  /** Rejects if the answer is refused. Some clients answer all that the run waits for. */
  answer(run: WireRun, asked: Asked): Promise<void>
  /** Resolves also if the run has ended already. */
  cancel(run: WireRun): Promise<void>
  close?(): Promise<void> | void
}

/** How a wire is served and reached. */
export interface WireAdapter {
  /** The packages of the wire, as `docs/wires.md` names them. */
  readonly package: string
  register(app: FastifyInstance, registry: Registry): Promise<void>
  /** The wires of the package; most have one. */
  connect(origin: string): Promise<Wire[]>
}

/** The tool that the caller of a run serves. */
export const PICK = {
  name: 'pick',
  description: 'Picks one',
  input: { type: 'object', properties: { key: { type: 'string' } } }
}

/** True for a part that waits for an answer. */
export function isAsking(
  part: NumberedPart
): part is Extract<NumberedPart, { type: 'tool.approval.request' | 'input.request' }> {
  return part.type === 'tool.approval.request' || part.type === 'input.request'
}
