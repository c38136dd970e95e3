import { ProtocolError } from '../events/protocol-error.ts'

interface FunctionCall {
  readonly inputId: string
  output?: string
}

/** An output to answer an input of the run with. */
export interface CallOutput {
  readonly callId: string
  readonly inputId: string
  readonly output: string
}

/** The function calls of a conversation that the run waits for. */
export class FunctionCalls {
  readonly #pending = new Map<string, FunctionCall>()

  /** True if the run waits for an output that the client has not given. */
  get missing(): boolean {
    return [...this.#pending.values()].some(({ output }) => output === undefined)
  }

  /** Adds a call of the run. */
  add(callId: string, inputId: string): void {
    this.#pending.set(callId, { inputId })
  }

  /** Keeps the output of a call until a response is asked for. @throws ProtocolError */
  keep(callId: string, output: string): void {
    const call = this.#pending.get(callId)
    if (call === undefined || call.output !== undefined)
      throw new ProtocolError(
        'invalid_tool_call_id',
        `No function call with the call_id '${callId.slice(0, 64)}' waits for its output.`,
        'item.call_id'
      )
    call.output = output
  }

  /** Takes the outputs that were kept. */
  take(): CallOutput[] {
    const outputs: CallOutput[] = []
    for (const [callId, { inputId, output }] of this.#pending) {
      if (output === undefined) continue
      outputs.push({ callId, inputId, output })
      this.#pending.delete(callId)
    }
    return outputs
  }
}
