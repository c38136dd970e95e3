interface Asked<Question, Answer> {
  readonly question: Question
  readonly answer: PromiseWithResolvers<Answer>
}

/** Answers questions together: those of one turn of the event loop share a query, and the same ones an answer. */
export class Together<Question, Answer> {
  readonly #most: number
  readonly #keyOf: (question: Question) => string
  readonly #answer: (questions: readonly Question[]) => Promise<readonly Answer[]>
  #asked = new Map<string, Asked<Question, Answer>>()

  /**
   * @param most questions per query
   * @param keyOf what the same questions have in common
   * @param answer the answers to questions, in their order
   */
  constructor(
    most: number,
    keyOf: (question: Question) => string,
    answer: (questions: readonly Question[]) => Promise<readonly Answer[]>
  ) {
    this.#most = most
    this.#keyOf = keyOf
    this.#answer = answer
  }

  ask(question: Question): Promise<Answer> {
    if (this.#asked.size === 0) setImmediate(() => this.#answerAll())
    const key = this.#keyOf(question)
    let asked = this.#asked.get(key)
    if (asked === undefined) {
      asked = { question, answer: Promise.withResolvers() }
      this.#asked.set(key, asked)
    }
    return asked.answer.promise
  }

  #answerAll(): void {
    const asked = [...this.#asked.values()]
    this.#asked = new Map()
    for (let index = 0; index < asked.length; index += this.#most)
      void this.#answerSome(asked.slice(index, index + this.#most))
  }

  async #answerSome(asked: readonly Asked<Question, Answer>[]): Promise<void> {
    try {
      const answers = await this.#answer(asked.map(({ question }) => question))
      for (const [index, { answer }] of asked.entries()) answer.resolve(answers[index]!)
    } catch (err) {
      for (const { answer } of asked) answer.reject(err)
    }
  }
}
