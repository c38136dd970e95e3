import { decodeTones } from '../src/testing/tone-codec.ts'
import t from 'tap'
import { startCall } from './helpers/start-call.ts'

t.setTimeout(10_000)

const listening = ({ state }: { state: string }) => state === 'listening'

t.test('a call is one run: turns are transcribed, answered, spoken and kept in the session', async (t) => {
  const { link, run, parts, session } = await startCall(t, {
    script: ['It is sunny. Take a hat.', 'Until then.']
  })
  link.speak('how is the weather')
  await link.next('response.end')
  await link.next('state', listening)
  link.speak('thank you very much')
  const { itemId, text, durationMs } = await link.next('answer.end')
  await link.next('state', listening)
  t.equal(text, 'Until then.')
  t.equal(decodeTones(link.audioOf(itemId), 24_000), text)
  t.equal(durationMs, (link.audioOf(itemId).length * 1000) / 24_000)
  link.hangUp()
  t.match(await run.result(), { text: 'Until then.', finishReason: 'stop', usage: { totalTokens: 22 } })
  t.match(
    (await parts()).filter(({ type }) => type.startsWith('voice.')),
    [
      { type: 'voice.transcript', text: 'how is the weather', final: true },
      { type: 'voice.turn', index: 0, status: 'completed', text: 'It is sunny. Take a hat.', heardMs: 690 },
      { type: 'voice.transcript', text: 'thank you very much', final: true },
      { type: 'voice.turn', index: 1, itemId, status: 'completed', text: 'Until then.' }
    ]
  )
  t.strictSame(await session(), [
    { role: 'user', content: 'how is the weather' },
    { role: 'assistant', text: 'It is sunny. Take a hat.' },
    { role: 'user', content: 'thank you very much' },
    { role: 'assistant', text: 'Until then.' }
  ])
})

t.test(
  'each item names the one before it, and a client gets the outputs of a response in order',
  async (t) => {
    const { link } = await startCall(t, { script: 'Well, of course.' })
    link.speak('the first turn')
    await link.next('state', listening)
    await link.next('state', listening)
    link.speak('the second turn')
    await link.next('response.end')
    const items = link.outputs.filter((output) => output.type === 'item' || output.type === 'answer.start')
    const ids = items.map(({ itemId }) => itemId)
    t.equal(new Set(ids).size, 4)
    t.strictSame(
      items.map(({ previousItemId }) => previousItemId),
      [undefined, ...ids.slice(0, 3)]
    )
    const [first] = link.all('response.start')
    t.strictSame(
      link.outputs
        .filter((output) => 'responseId' in output && output.responseId === first?.responseId)
        .map(({ type }) => type)
        .filter((type, index, all) => type !== all[index - 1]),
      ['response.start', 'answer.start', 'text', 'audio', 'answer.end', 'response.end']
    )
  }
)

for (const [type, rate] of [
  ['audio/pcm', 8_000],
  ['audio/pcm', 16_000],
  ['audio/pcm', 44_100],
  ['audio/pcm', 48_000],
  ['audio/pcmu', 8_000],
  ['audio/pcma', 8_000]
] as const) {
  t.test(`a client of ${type} at ${rate} Hz is understood, and understands`, async (t) => {
    const format = { type, rate }
    const { link } = await startCall(t, {
      script: 'Zwölf Öfen, 80 % voll.',
      link: { settings: { input: format, output: format } }
    })
    link.speak('wie viele öfen')
    t.match(await link.next('transcript', ({ final }) => final), { text: 'wie viele öfen' })
    const { itemId } = await link.next('answer.end')
    t.equal(decodeTones(link.audioOf(itemId), rate), 'Zwölf Öfen, 80 % voll.')
  })
}

t.test('the client may decide about turns and answers, and write', async (t) => {
  const { link, run, session } = await startCall(t, {
    script: ['One.', 'Two.', 'Three.'],
    link: { settings: { turns: { detect: false, respond: false } } }
  })
  link.speak('this is the first', 1_000)
  link.push({ type: 'commit', itemId: 'mine' })
  t.match(await link.next('item'), { itemId: 'mine' })
  t.match(await link.next('transcript', ({ final }) => final), { itemId: 'mine', text: 'this is the first' })
  link.push({ type: 'text', text: 'and this', itemId: 'written' })
  t.match(await link.next('item'), { itemId: 'written', previousItemId: 'mine', text: 'and this' })
  t.equal(link.all('response.start').length, 0)
  link.push({ type: 'respond', instructions: 'Be brief.' })
  t.match(await link.next('answer.end'), { text: 'One.' })
  await link.next('state', listening)
  link.push({ type: 'text', text: 'go', respond: true })
  t.match(await link.next('answer.end'), { text: 'Two.' })
  await link.next('state', listening)
  link.push({ type: 'respond', instructions: 'Say more.', modality: 'text' })
  t.match(await link.next('answer.start'), { modality: 'text' })
  t.match(await link.next('answer.end'), { text: 'Three.', durationMs: 0 })
  await link.next('state', listening)
  link.hangUp()
  await run.result()
  t.strictSame(
    (await session()).flatMap((message) => (message.role === 'user' ? [message.content] : [])),
    ['this is the first\nand this', 'go', 'Say more.']
  )
})

t.test('a greeting is spoken first, and the model knows of it', async (t) => {
  const prompts: string[] = []
  const { link, run, session } = await startCall(t, {
    script: ({ prompt }) => {
      prompts.push(JSON.stringify(prompt))
      return 'Fine.'
    },
    voice: { greeting: 'Welcome to the desk.' }
  })
  const { itemId, text } = await link.next('answer.end')
  t.equal(decodeTones(link.audioOf(itemId), 24_000), 'Welcome to the desk.')
  t.equal(text, 'Welcome to the desk.')
  t.match(link.all('text'), [{ itemId, delta: text }])
  await link.next('state', listening)
  link.speak('how are you')
  t.match(await link.next('answer.end'), { text: 'Fine.' })
  link.hangUp()
  await run.result()
  t.match(prompts[0], 'Welcome to the desk.')
  t.equal((await session()).length, 2)
})

t.test('settings change in the middle of a call', async (t) => {
  const prompts: string[] = []
  const { link } = await startCall(t, {
    script: ({ prompt }) => {
      prompts.push(JSON.stringify(prompt))
      return 'Fine.'
    }
  })
  link.push({
    type: 'configure',
    settings: { instructions: 'Speak like a pirate.', turns: { respond: false } }
  })
  link.speak('how are you')
  await link.next('transcript', ({ final }) => final)
  t.equal(link.all('response.start').length, 0)
  link.push({ type: 'configure', settings: { modality: 'text', turns: { respond: true } } })
  link.speak('and now')
  t.match(await link.next('answer.start'), { modality: 'text' })
  t.match(await link.next('response.end'), { status: 'completed' })
  t.equal(link.all('audio').length, 0)
  t.match(prompts[0], 'Speak like a pirate.')
  t.match(prompts[0], String.raw`how are you\nand now`)
})

t.test('a format that changes is that of the next answer, and of the audio from now on', async (t) => {
  const { link } = await startCall(t, { script: 'All is well here.' })
  link.speak('how are you')
  const first = await link.next('answer.end')
  const format = { type: 'audio/pcmu', rate: 8_000 } as const
  link.push({ type: 'configure', settings: { output: format } })
  t.equal(decodeTones(link.audioOf(first.itemId), 24_000), first.text)
  await link.next('state', listening)
  link.speak('and now')
  const { itemId, durationMs } = await link.next('answer.end')
  const bytes = link
    .all('audio')
    .filter((audio) => audio.itemId === itemId)
    .map(({ audio }) => audio.length)
  t.equal(
    bytes.reduce((sum, each) => sum + each, 0),
    durationMs * 8
  )
})

t.test('what a client asks for in vain has a code, and the call continues', async (t) => {
  const { link } = await startCall(t)
  link.push({ type: 'cancel' })
  t.match(await link.next('error'), { code: 'VOICE_ERR_NO_RESPONSE' })
  link.silence(50)
  link.push({ type: 'commit' })
  t.match(await link.next('error'), { code: 'VOICE_ERR_COMMIT_TOO_SHORT' })
  link.push({ type: 'respond' })
  t.match(await link.next('error'), { code: 'VOICE_ERR_NOTHING_TO_ANSWER' })
  link.push({ type: 'truncate', itemId: 'nothing', heardMs: 10 })
  t.match(await link.next('error'), { code: 'VOICE_ERR_UNKNOWN_ITEM' })
  link.push({ type: 'configure', settings: { output: { type: 'audio/pcm', rate: 7 } } })
  t.match(await link.next('error'), { code: 'VOICE_ERR_BAD_FORMAT' })
  link.push({
    type: 'configure',
    settings: { tools: [{ name: 'no name', description: '', input: {} as never }] }
  })
  t.match(await link.next('error'), { code: 'RUN_ERR_BAD_INPUT' })
  link.speak('are you still there')
  const { itemId } = await link.next('answer.end')
  link.push({ type: 'truncate', itemId, heardMs: 100_000 })
  t.match(await link.next('error'), { code: 'VOICE_ERR_BAD_POSITION' })
})

t.test('an id of the client names one turn', async (t) => {
  const { link } = await startCall(t, { link: { settings: { turns: { detect: false } } } })
  link.push({ type: 'text', text: 'one', itemId: 'mine' })
  link.push({ type: 'text', text: 'two', itemId: 'mine' })
  t.match(await link.next('error'), { code: 'VOICE_ERR_ITEM_EXISTS' })
  link.speak('this is mine, too')
  link.push({ type: 'commit', itemId: 'mine' })
  t.match(await link.next('error'), { code: 'VOICE_ERR_ITEM_EXISTS' })
  link.push({ type: 'commit', itemId: 'other' })
  t.match(await link.next('item'), { itemId: 'other', previousItemId: 'mine' })
  const { itemId } = await link.next('answer.end')
  link.push({ type: 'text', text: 'three', itemId })
  t.match(await link.next('error'), { code: 'VOICE_ERR_ITEM_EXISTS' })
  t.strictSame(
    link.all('item').map(({ text }) => text),
    ['one', undefined]
  )
})

t.test('requests for an answer are one until it begins', async (t) => {
  const { link } = await startCall(t, { script: ['One.', 'Two.'], link: { playback: 'reports' } })
  link.push({ type: 'text', text: 'one', respond: true })
  const { itemId, durationMs } = await link.next('answer.end')
  link.push({ type: 'text', text: 'two' })
  for (let count = 0; count < 20; count++) link.push({ type: 'respond' })
  link.played(itemId, durationMs)
  t.match(await link.next('answer.end'), { text: 'Two.' })
  t.equal(link.all('error').length, 0)
})
