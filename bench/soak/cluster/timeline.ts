/** When what worked, by the clock of this machine, which is also that of the database. */
export class Timeline {
  readonly #changes: { at: number; what: string; works: boolean }[] = []

  /** @param what `database`, or the name of a process */
  record(what: string, works: boolean): void {
    this.#changes.push({ at: Date.now(), what, works })
  }

  /** The beginning of the last time at which something did not work, if that was over after `from` and began before `to`. */
  lastFailure(what: string, from: number, to: number): number | undefined {
    let began: number | undefined
    let last: number | undefined
    for (const change of this.#changes) {
      if (change.what !== what || change.at > to) continue
      if (!change.works) began ??= change.at
      else {
        if (began !== undefined && change.at >= from) last = began
        began = undefined
      }
    }
    return began ?? last
  }

  /** Since when both the database and one process or more besides the given one have worked without a break, until then. */
  reachableSince(at: number, except: string): number {
    const working = new Set<string>()
    let since: number | undefined
    for (const change of this.#changes) {
      if (change.at > at) break
      if (change.works) working.add(change.what)
      else working.delete(change.what)
      const others = working.size - Number(working.has('database')) - Number(working.has(except))
      if (!working.has('database') || others === 0) since = undefined
      else since ??= change.at
    }
    return since ?? at
  }
}
