import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { espeak } from '../../../src/voice/offline/espeak.ts'
import { findPrograms } from '../../../src/voice/offline/find-programs.ts'
import { PHRASES, toGrammar } from '../../../src/voice/offline/phrases.ts'
import { pocketsphinx } from '../../../src/voice/offline/pocketsphinx.ts'
import { installed, skip, writeProgram } from '../../helpers/speech-programs.ts'

const grammar = toGrammar(PHRASES)
const wav = Buffer.alloc(44 + 3_200)
wav.write('RIFF', 0, 'latin1')
wav.writeUInt16LE(1, 22)
wav.writeUInt32LE(16_000, 24)
wav.writeUInt16LE(16, 34)
const speech = { audio: wav, mediaType: 'audio/wav' }

t.test('what is spoken is understood', { skip }, async (t) => {
  const { espeak: path, recognizer } = installed!
  const listen = pocketsphinx(recognizer, grammar)
  const spoken = [
    'hello',
    'what time is it in new york',
    'what is twelve times seven',
    'how do i resume a stream'
  ]
  const understood = await Promise.all(
    spoken.map(async (text) => {
      const { audio } = await espeak(path).doGenerate({ text })
      return listen.doGenerate({ audio, mediaType: 'audio/wav' })
    })
  )
  t.same(
    understood.map(({ text }) => text),
    spoken
  )
  t.ok(understood.every(({ durationInSeconds }) => durationInSeconds > 0.3 && durationInSeconds < 4))
})

t.test('the header of speech has its sizes, and text is never an option or a file', { skip }, async (t) => {
  const { audio, warnings } = await espeak(installed!.espeak).doGenerate({
    text: '--help',
    outputFormat: 'mp3'
  })
  const bytes = audio as Buffer
  t.equal(bytes.readUInt32LE(40), bytes.length - 44)
  t.equal(bytes.readUInt32LE(4), bytes.length - 8)
  t.match(warnings, [{ type: 'unsupported', feature: 'outputFormat' }])
  await t.rejects(espeak(installed!.espeak).doGenerate({ text: 'a', voice: '../secret' }), /no voice/)
  await t.rejects(espeak(installed!.espeak).doGenerate({ text: 'a'.repeat(9_000) }), /9000 characters/)
})

t.test('pocketsphinx 5 has another command line, and writes JSON', async (t) => {
  const folder = t.testdir()
  const path = writeProgram(
    folder,
    'pocketsphinx',
    `echo "$@" > ${folder}/args
     echo '{"b":0.000,"d":1.0,"p":1.0,"t":"thank you","w":[]}'`
  )
  const found = await findPrograms({ PATH: `${folder}:/usr/bin` })
  const { text } = await pocketsphinx({ path, commands: true }, grammar).doGenerate(speech)
  t.equal(text, 'thank you')
  t.match(readFileSync(join(folder, 'args'), 'utf8'), /-jsgf \S+ -samprate 16000 single \S+\.wav/)
  if (installed !== undefined) t.notMatch(found, { recognizer: { path } }, 'the older is preferred')
  t.match(await findPrograms({ PATH: folder }), { missing: 'apt-get install espeak-ng' })
  t.match(await findPrograms({ PATH: '' }), {
    missing: 'apt-get install espeak-ng pocketsphinx pocketsphinx-en-us'
  })
})

t.test('audio that pocketsphinx cannot read is refused', async (t) => {
  const model = pocketsphinx({ path: '/nowhere', commands: false }, grammar)
  const telephone = Buffer.from(wav)
  telephone.writeUInt32LE(8_000, 24)
  await t.rejects(model.doGenerate({ audio: telephone, mediaType: 'audio/wav' }), /16000 Hz or more/)
  await t.rejects(model.doGenerate({ audio: Buffer.from('ID3'), mediaType: 'audio/mpeg' }), /not audio\/mpeg/)
  await t.rejects(model.doGenerate(speech), /\/nowhere cannot be run/)
})

t.test('a program that fails is named, with its last line', async (t) => {
  const path = writeProgram(t.testdir(), 'broken', 'echo one >&2; echo "no such voice" >&2; exit 3')
  await t.rejects(espeak(path).doGenerate({ text: 'Hello' }), /broken ended with 3: no such voice/)
  const mute = writeProgram(t.testdir({}), 'mute', 'exit 0')
  await t.rejects(espeak(mute).doGenerate({ text: 'Hello' }), /wrote no audio/)
})

t.test('an abort kills the program, and leaves no file', async (t) => {
  const folder = t.testdir({ tmp: {} })
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = join(folder, 'tmp')
  t.teardown(() => (before === undefined ? delete process.env['TMPDIR'] : (process.env['TMPDIR'] = before)))
  const path = writeProgram(folder, 'endless', `echo $$ > ${folder}/pid; exec sleep 600`)
  const abort = new AbortController()
  const call = pocketsphinx({ path, commands: false }, grammar).doGenerate({
    ...speech,
    abortSignal: abort.signal
  })
  while (!existsSync(join(folder, 'pid'))) await pause(5)
  abort.abort(new Error('hung up'))
  await t.rejects(call, /hung up/)
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'))
  while (existsSync(`/proc/${pid}`)) await pause(5)
  t.same(readdirSync(join(folder, 'tmp')), [])
  await t.rejects(
    espeak(path).doGenerate({ text: 'Hello', abortSignal: AbortSignal.abort(new Error('late')) }),
    /late/
  )
})
