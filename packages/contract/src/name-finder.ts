const IN_WORD = /[\p{L}\p{N}\p{M}_]/u

interface Mention {
  readonly name: string
  readonly start: number
  readonly end: number
}

interface Node {
  readonly next: Map<number, Node>
  readonly depth: number
  /** The name that ends here. */
  name?: string
  /** The node of the longest proper suffix of this path. */
  back: Node
  /** The nearest node along `back` at which a name ends. */
  shorter: Node | undefined
}

/**
 * Finds the names of runnables in a text, as whole words and case-insensitively; of two that begin at the same index, the longer.
 * Finds the first mention in time linear in the text, whatever the names are (Aho and Corasick, 1975).
 */
export class NameFinder {
  readonly #root = createNode(0)

  /** If two names differ in case only, the first is found. */
  constructor(names: Iterable<string>) {
    for (const name of names) this.#add(name)
    this.#link()
  }

  /** Yields the names in the order of the text, once per mention. */
  *find(given: string): Generator<string, void> {
    const text = given.toLowerCase()
    for (let from = 0; ;) {
      const found = this.#findFirst(text, from)
      if (found === undefined) return
      yield found.name
      from = found.end
    }
  }

  #add(name: string): void {
    if (name === '') return
    let node = this.#root
    const word = name.toLowerCase()
    for (let at = 0; at < word.length; at++) {
      const unit = word.charCodeAt(at)
      let next = node.next.get(unit)
      if (next === undefined) node.next.set(unit, (next = createNode(node.depth + 1, this.#root)))
      node = next
    }
    node.name ??= name
  }

  // Level by level, since `back` leads to nodes nearer to the root.
  #link(): void {
    const queue = [...this.#root.next.values()]
    for (const node of queue) {
      for (const [unit, next] of node.next) {
        next.back = step(node.back, unit)
        next.shorter = next.back.name === undefined ? next.back.shorter : next.back
        queue.push(next)
      }
    }
  }

  #findFirst(text: string, from: number): Mention | undefined {
    let node = this.#root
    let best: Mention | undefined
    for (let at = from; at < text.length; at++) {
      node = step(node, text.charCodeAt(at))
      // Any later match begins later, too.
      if (best !== undefined && at + 1 - node.depth > best.start) return best
      const ends: Node | undefined = node.name === undefined ? node.shorter : node
      if (ends === undefined || isInWord(text, at + 1)) continue
      for (let each: Node | undefined = ends; each !== undefined; each = each.shorter) {
        const start = at + 1 - each.depth
        if (isAfterWord(text, start)) continue
        if (best === undefined || start <= best.start) best = { name: each.name!, start, end: at + 1 }
        break
      }
    }
    return best
  }
}

function createNode(depth: number, root?: Node): Node {
  const node: Partial<Node> = { next: new Map(), depth, shorter: undefined }
  node.back = root ?? (node as Node)
  return node as Node
}

function step(from: Node, unit: number): Node {
  let node = from
  while (node.depth > 0 && !node.next.has(unit)) node = node.back
  return node.next.get(unit) ?? node
}

function isInWord(text: string, at: number): boolean {
  const point = text.codePointAt(at)
  return point !== undefined && IN_WORD.test(String.fromCodePoint(point))
}

function isAfterWord(text: string, at: number): boolean {
  const last = /.$/su.exec(text.slice(Math.max(0, at - 2), at))?.[0]
  return last !== undefined && IN_WORD.test(last)
}
