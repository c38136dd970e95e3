import t from 'tap'
import { chooseVoice } from '../../src/voice/choose-voice.ts'
import { skip } from '../helpers/speech-programs.ts'

const KEY = 'sk-this-is-a-secret-4711'

t.test('with a key of OpenAI its models are used', async (t) => {
  const voice = await chooseVoice({ OPENAI_API_KEY: KEY }, { PATH: '' })
  t.match(voice, {
    listen: { provider: 'openai.transcription', modelId: /transcribe/ },
    speak: { provider: 'openai.speech', modelId: /tts/ },
    live: { provider: /^openai/, modelId: /realtime/ },
    phrases: []
  })
  t.notMatch('label' in voice && voice.label, KEY)
})

t.test('a server with the protocol of OpenAI is not asked for speech', async (t) => {
  const local = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: 'http://localhost:11434/v1' }
  t.match(await chooseVoice(local, { PATH: '' }), { missing: /apt-get install espeak-ng pocketsphinx/ })
})

t.test('without a key the programs of this machine are used', { skip }, async (t) => {
  const voice = await chooseVoice({})
  t.match(voice, {
    listen: { provider: 'pocketsphinx' },
    speak: { provider: 'espeak-ng' },
    label: /offline/
  })
  const phrases = 'phrases' in voice ? voice.phrases : []
  t.ok(phrases.length >= 12)
  t.notOk(
    phrases.some((phrase) => /[<>|]/.test(phrase)),
    'each is a sentence'
  )
})
