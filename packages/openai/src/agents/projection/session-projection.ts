import type { NumberedPart, PartOf, SessionRun } from '@svc/contract'
import type { SessionEvents } from '@svc/surface'
import type { AgentSessionEvent } from '../wire/event-schemas.ts'
import { TurnProjection, type TurnContext } from './turn-projection.ts'

/** The events of a session. */
export class SessionProjection implements SessionEvents<AgentSessionEvent> {
  readonly #context: TurnContext
  readonly #until: string | undefined
  #turn: TurnProjection | undefined
  #run: SessionRun | undefined
  #isOver = false

  /** @param until the run with which the stream ends; default: it goes on */
  constructor(context: TurnContext, until?: string) {
    this.#context = context
    this.#until = until
  }

  get ended(): boolean {
    return this.#isOver
  }

  begin(run: SessionRun): void {
    this.#run = run
    this.#turn = new TurnProjection(run.runId, this.#context)
  }

  add(part: NumberedPart): AgentSessionEvent[] {
    const { runId, ordinal } = this.#run!
    const turn = this.#turn!
    const events = turn.add(part)
    if (turn.run.end !== undefined && runId === this.#until) this.#isOver = true
    const prefix = `event_${ordinal}_${part.seq}_`
    return events.map((event, at) => Object.assign(event, { event_id: prefix + at }))
  }

  continueText(part: NumberedPart & PartOf<'text'>, json: string): string | undefined {
    const before = this.#turn!.continueText(part)
    return before && `data: ${before}${json},"event_id":"event_${this.#run!.ordinal}_${part.seq}_0"}\n\n`
  }
}
