import type { Commit, Write } from '../commit.ts'

/** Commits writes one after another, in the order of the calls. */
export class InOrder implements Commit {
  readonly outage: number
  readonly #commit: Commit
  #last: Promise<unknown> = Promise.resolve()

  constructor(commit: Commit) {
    this.outage = commit.outage
    this.#commit = commit
  }

  write<T>(write: Write<T>, patience?: number): Promise<T> {
    const written = this.#last.then(() => this.#commit.write(write, patience))
    this.#last = written.catch(() => {})
    return written
  }

  close(): Promise<void> {
    return this.#commit.close()
  }
}
