/** Bytes of a block. */
const SIZE = 65_536
/** A text of more bytes has a block of its own. */
const MOST_SHARED = SIZE / 4
/** The maximum number of blocks without texts that are kept for new ones. */
const MAX_EMPTY = 64

interface Block {
  readonly bytes: Buffer
  used: number
  texts: number
}

/**
 * Blocks of memory outside of V8's heap, where no garbage collection moves or marks anything. Texts fill them one after the other. A
 * block is filled again once all its texts were dropped, so these should be dropped in about the order in which they were kept.
 */
export class TextBlocks {
  #current: Block = { bytes: Buffer.alloc(0), used: 0, texts: 0 }
  readonly #empty: Block[] = []

  /** Returns a block with so many bytes left. */
  blockFor(length: number): Block {
    const { bytes, used } = this.#current
    if (length <= bytes.length - used) return this.#current
    if (length > MOST_SHARED) return { bytes: Buffer.allocUnsafeSlow(length), used: 0, texts: 0 }
    this.#leave(this.#current)
    return (this.#current = this.#empty.pop() ?? { bytes: Buffer.allocUnsafeSlow(SIZE), used: 0, texts: 0 })
  }

  /** A text of a block was dropped. */
  dropFrom(block: Block): void {
    block.texts--
    if (block !== this.#current) this.#leave(block)
  }

  #leave(block: Block): void {
    if (block.texts > 0 || block.bytes.length !== SIZE || this.#empty.length === MAX_EMPTY) return
    block.used = 0
    this.#empty.push(block)
  }
}

/** A text in a block, until it is dropped. What is not well-formed in it is replaced. */
export class KeptText {
  #block: Block | undefined
  readonly #start: number
  readonly #end: number

  constructor(text: string, blocks: TextBlocks) {
    const block = blocks.blockFor(Buffer.byteLength(text))
    this.#block = block
    this.#start = block.used
    this.#end = block.used += block.bytes.write(text, block.used)
    block.texts++
  }

  /** Its bytes. */
  get length(): number {
    return this.#end - this.#start
  }

  /** The text; empty once it was dropped. */
  read(): string {
    return this.#block?.bytes.toString('utf8', this.#start, this.#end) ?? ''
  }

  /** Frees its place in the blocks that it was given. */
  drop(blocks: TextBlocks): void {
    if (this.#block !== undefined) blocks.dropFrom(this.#block)
    this.#block = undefined
  }
}
