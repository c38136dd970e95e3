import type { Delivered, Delivery } from '@svc/contract'

/** The delivery of an answer by a member of a team, for the team's own conversation. */
export class MemberDelivery implements Delivery {
  readonly #delivery: Delivery
  readonly #texts: string[] = []
  #isCut = false

  constructor(delivery: Delivery) {
    this.#delivery = delivery
  }

  get interrupted(): AbortSignal {
    return this.#delivery.interrupted
  }

  /** True if some of the answer was not delivered. */
  get isCut(): boolean {
    return this.#isCut
  }

  /** What was delivered of the answer. */
  get text(): string {
    return this.#texts.join('')
  }

  async settle(text: string, options: { readonly last: boolean }): Promise<Delivered> {
    const delivered = await this.#delivery.settle(text, options)
    this.#texts.push(delivered.text)
    if (delivered.interrupted) this.#isCut = true
    return delivered
  }
}
