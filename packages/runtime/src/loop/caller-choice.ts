import { findChoiceFault, RUN_ERR_BAD_INPUT, type RunContext, type ToolChoice } from '@svc/contract'
import type { ToolSet } from '../tools/tool-set.ts'

/**
 * What the caller of a run says of its tool calls. `auto` and `none` apply to each step; `required` to each until one of the caller's
 * tools is called, if it serves any; else it and a certain tool apply to the first step, since the model would never answer.
 */
export class CallerChoice {
  readonly #choice: ToolChoice
  readonly #clientTools: readonly string[]
  readonly #isMember: boolean
  #isOver = false

  private constructor(choice: ToolChoice, { clientTools, source }: RunContext) {
    this.#choice = choice
    this.#clientTools = clientTools.map(({ name }) => name)
    this.#isMember = source.length > 0
  }

  /** The choice of a run's caller; undefined if it has made none. */
  static of(context: RunContext): CallerChoice | undefined {
    const { toolChoice } = context
    return toolChoice === undefined ? undefined : new CallerChoice(toolChoice, context)
  }

  /** The choice for the next step; undefined: as the agent decides. @throws RUN_ERR_BAD_INPUT if the step has no such tool */
  forStep({ names }: Pick<ToolSet, 'names'>): ToolChoice | undefined {
    if (this.#isOver) return undefined
    const choice = this.#choice
    if (typeof choice === 'string') return choice
    const fault = findChoiceFault(choice, names)
    if (fault === undefined) return choice
    // Another member may have it.
    if (this.#isMember) return undefined
    throw new RUN_ERR_BAD_INPUT(`toolChoice: ${fault}`)
  }

  /** A step is over, and has called these tools. */
  endStep(called: readonly { readonly toolName: string }[]): void {
    if (this.#choice === 'auto' || this.#choice === 'none') return
    const goesOn = this.#choice === 'required' && this.#clientTools.length > 0
    this.#isOver ||= !goesOn || called.some(({ toolName }) => this.#clientTools.includes(toolName))
  }
}
