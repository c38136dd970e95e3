/** An element of a page as the accessibility tree has it. */
export interface SeenNode {
  readonly role: string
  readonly name?: string
  readonly ref?: string
  /** Its text, or the value of a field. */
  readonly text?: string
  /** True if the value of the field is a secret. */
  readonly isMasked?: boolean
  /** States in brackets, e.g. `checked`, `level=2`. */
  readonly states: readonly string[]
  /** Further facts as `key="value"`, e.g. the `url` of a link. */
  readonly facts: Readonly<Record<string, string>>
  readonly children: readonly (SeenNode | string)[]
  /** In CSS pixels of the viewport of the page; undefined if it has no size. */
  readonly box?: Box | undefined
}

/** A rectangle in CSS pixels. */
export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** The elements of a tree, in no particular order. */
export function* walk(roots: readonly SeenNode[]): Generator<SeenNode> {
  const stack: (SeenNode | string)[] = [...roots]
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (typeof node === 'string') continue
    yield node
    stack.push(...node.children)
  }
}
