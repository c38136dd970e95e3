/** Listeners by the keys of sessions, called when a run entered. */
export class SessionFollowers {
  readonly #followers = new Map<string, Set<() => void>>()

  /** The sessions that have listeners. */
  get keys(): string[] {
    return [...this.#followers.keys()]
  }

  /** Adds a listener, until the returned function is called. */
  follow(sessionKey: string, listener: () => void): () => void {
    const followers = this.#followers.get(sessionKey) ?? new Set()
    // An object of its own: the same function may follow twice.
    const own = () => listener()
    this.#followers.set(sessionKey, followers.add(own))
    return () => {
      followers.delete(own)
      if (followers.size === 0 && this.#followers.get(sessionKey) === followers)
        this.#followers.delete(sessionKey)
    }
  }

  notify(sessionKey: string): void {
    for (const listener of this.#followers.get(sessionKey) ?? []) listener()
  }

  notifyAll(): void {
    for (const key of this.keys) this.notify(key)
  }
}
