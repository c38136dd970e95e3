import t from 'tap'
import { KeptText, TextBlocks } from '../../src/stores/in-process/kept-text.ts'

t.test('texts are read as they were kept', async (t) => {
  const blocks = new TextBlocks()
  const texts = ['', 'ascii', 'ümläut', '漢字 😀', 'x'.repeat(20_000), 'é'.repeat(60_000), 'last']
  const kept = texts.map((text) => new KeptText(text, blocks))
  t.same(
    kept.map((text) => text.read()),
    texts
  )
  t.same(
    kept.map(({ length }) => length),
    texts.map((text) => Buffer.byteLength(text))
  )
})

t.test('a block whose texts were dropped is filled again, never one that has a text', async (t) => {
  const blocks = new TextBlocks()
  const buffers = new Set<Buffer>()
  let kept: { text: KeptText; as: string }[] = []
  for (let round = 0; round < 2_000; round++) {
    const as = `${round} `.repeat(1 + (round % 1_000))
    kept.push({ text: new KeptText(as, blocks), as })
    buffers.add(blocks.blockFor(0).bytes)
    // The oldest go, but for one in a hundred.
    if (kept.length < 200) continue
    const [oldest, ...rest] = kept
    kept = rest
    if (round % 100 === 0) kept.push(oldest!)
    else oldest!.text.drop(blocks)
  }
  for (const { text, as } of kept) t.equal(text.read(), as)
  t.ok(buffers.size < 40, `${buffers.size} blocks`)
})

t.test('a text that was dropped is empty, and frees its place once', async (t) => {
  const blocks = new TextBlocks()
  const [first, second] = [new KeptText('a'.repeat(16_000), blocks), new KeptText('b'.repeat(16_000), blocks)]
  const block = blocks.blockFor(0)
  for (let times = 0; times < 3; times++) first.drop(blocks)
  t.equal(first.read(), '')
  for (let count = 0; count < 20; count++) new KeptText('c'.repeat(16_000), blocks)
  t.equal(second.read(), 'b'.repeat(16_000), 'its block has another text')
  t.equal(block.texts > 0, true)
})
